// Stretches of time.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace reprise {

using Interval = std::pair<std::int64_t, std::int64_t>;  // begin and end, in nanoseconds

// Sorted and disjoint, the empty ones left out.
[[nodiscard]] std::vector<Interval> Union(std::vector<Interval> intervals);
// Of two that are so already.
[[nodiscard]] std::vector<Interval> Union(const std::vector<Interval>& a,
                                          const std::vector<Interval>& b);
[[nodiscard]] std::int64_t Length(const std::vector<Interval>& intervals);
// Of `a`, what lies in no interval of `b`; both as Union returns them.
[[nodiscard]] std::int64_t LengthOutside(const std::vector<Interval>& a,
                                         const std::vector<Interval>& b);

}  // namespace reprise
