// When the steps of a schedule begin and end.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace reprise {

// A step lasts until the next one begins, the last one until `end_ns`. `begin_ns`: of each step the
// first start of its nodes, INT64_MAX without nodes: such a step takes no time. Returns begin and
// end of each, in order.
[[nodiscard]] std::vector<std::pair<std::int64_t, std::int64_t>> StepSpans(
    const std::vector<std::int64_t>& begin_ns, std::int64_t end_ns);

}  // namespace reprise
