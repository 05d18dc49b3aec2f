// Steps: the one definition of when they begin and end (docs/definitions.md). Converter, dry
// replay, replay, simulation and the timing check use it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace reprise {

// Begin and end of each step, in order. A step lasts from the end of all work of the step before to
// the end of its own; the first begins at `begin_ns`. `work_end_ns`: by step, the latest end of its
// host and device work, INT64_MIN without work: such a step takes no time.
[[nodiscard]] std::vector<std::pair<std::int64_t, std::int64_t>> StepSpans(
    std::int64_t begin_ns, std::span<const std::int64_t> work_end_ns);

// One rank's nodes, by node. `step`: −1 outside the steps.
struct StepNodes {
  std::span<const std::int32_t> step;
  std::span<const std::int64_t> start_ns, end_ns;
};

// How a recording's steps lie around their nodes.
struct StepFrame {
  std::size_t steps = 1;
  std::int64_t lead_ns = 0;  // from the first step's begin to the first start of its nodes; below 0
                             // where these start earlier (a part cut out of a longer trace)
  std::int64_t tail_ns = 0;  // from the last end of the last step's nodes to the step's end; from 0
  bool operator==(const StepFrame&) const = default;
};

// `begin_ns` and `end_ns`: of all steps together, as recorded.
[[nodiscard]] StepFrame FrameOfSteps(const StepNodes& recorded, std::size_t steps,
                                     std::int64_t begin_ns, std::int64_t end_ns);

// The steps of a schedule of the nodes that `frame` was made of: the recorded times give the
// recorded steps. A schedule in which the first step has no nodes begins at 0.
[[nodiscard]] std::vector<std::pair<std::int64_t, std::int64_t>> StepSpans(
    const StepFrame& frame, const StepNodes& scheduled);

}  // namespace reprise
