// Integer nanoseconds from factors and models that may be of any size.
#pragma once

#include <cmath>
#include <cstdint>

namespace reprise {

// 11 days: no replay and no prediction lasts longer. The sum of 9,000 such times fits in 64 bits;
// CheckTimes (core/timing/dry_run.h) refuses larger sums.
inline constexpr std::int64_t kLongestNs = 1'000'000'000'000'000;
// What stands for a time that is longer, or no number at all.
inline constexpr std::int64_t kTooLongNs = kLongestNs + 1;

// The nearest integer; kTooLongNs for NaN and for what is out of range on either side. A time
// without end must not count as none.
[[nodiscard]] inline std::int64_t NsOf(double ns) {
  const bool fits = ns > -static_cast<double>(kLongestNs) && ns <= static_cast<double>(kLongestNs);
  return fits ? std::llround(ns) : kTooLongNs;
}

}  // namespace reprise
