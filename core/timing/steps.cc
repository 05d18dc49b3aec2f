#include "core/timing/steps.h"

#include <algorithm>

namespace reprise {
namespace {

// INT64_MAX: the step has no nodes.
std::int64_t FirstStart(const StepNodes& nodes, std::int32_t step) {
  std::int64_t first_ns = INT64_MAX;
  for (std::size_t i = 0; i < nodes.step.size(); ++i) {
    first_ns = nodes.step[i] == step ? std::min(first_ns, nodes.start_ns[i]) : first_ns;
  }
  return first_ns;
}

std::vector<std::int64_t> LastEnds(const StepNodes& nodes, std::size_t steps) {
  std::vector<std::int64_t> last_ns(steps, INT64_MIN);
  for (std::size_t i = 0; i < nodes.step.size(); ++i) {
    if (nodes.step[i] >= 0 && static_cast<std::size_t>(nodes.step[i]) < steps) {
      std::int64_t& last = last_ns[static_cast<std::size_t>(nodes.step[i])];
      last = std::max(last, nodes.end_ns[i]);
    }
  }
  return last_ns;
}

}  // namespace

std::vector<std::pair<std::int64_t, std::int64_t>> StepSpans(
    std::int64_t begin_ns, std::span<const std::int64_t> work_end_ns) {
  std::vector<std::pair<std::int64_t, std::int64_t>> spans;
  spans.reserve(work_end_ns.size());
  for (const std::int64_t end_ns : work_end_ns) {
    spans.emplace_back(begin_ns, std::max(begin_ns, end_ns));
    begin_ns = spans.back().second;
  }
  return spans;
}

StepFrame FrameOfSteps(const StepNodes& recorded, std::size_t steps, std::int64_t begin_ns,
                       std::int64_t end_ns) {
  StepFrame frame{.steps = steps};
  const std::int64_t first_ns = FirstStart(recorded, 0);
  const std::int64_t last_ns = LastEnds(recorded, steps).back();
  frame.lead_ns = first_ns == INT64_MAX ? 0 : first_ns - begin_ns;
  frame.tail_ns = last_ns == INT64_MIN ? 0 : std::max<std::int64_t>(end_ns - last_ns, 0);
  return frame;
}

std::vector<std::pair<std::int64_t, std::int64_t>> StepSpans(const StepFrame& frame,
                                                             const StepNodes& scheduled) {
  const std::int64_t first_ns = FirstStart(scheduled, 0);
  std::vector<std::int64_t> last_ns = LastEnds(scheduled, frame.steps);
  last_ns.back() += last_ns.back() == INT64_MIN ? 0 : frame.tail_ns;
  return StepSpans(first_ns == INT64_MAX ? 0 : first_ns - frame.lead_ns, last_ns);
}

}  // namespace reprise
