// The steps of a rank's items, and when these begin and end.
#include <algorithm>

#include "converters/pytorch/edges/rank_timeline.h"
#include "core/timing/steps.h"

namespace reprise::pytorch {

std::int32_t StepOf(const RankCapture& rank, const Item& item) {
  if (item.kind == Item::Kind::kStepEnd) {
    return rank.StepAt(rank.Op(item.operation).start_ns);
  }
  if (item.event >= 0) {
    const std::int32_t call = rank.EventLinkOf(item.event).call;
    return rank.StepAt(call >= 0             ? rank.Call(call).start_ns
                       : item.operation >= 0 ? rank.Op(item.operation).start_ns
                                             : item.start_ns);
  }
  if (item.kind == Item::Kind::kTransfer && rank.Transfer(item.transfer).call >= 0) {
    return rank.StepAt(rank.Op(rank.Transfer(item.transfer).call).start_ns);
  }
  return rank.StepAt(item.start_ns);
}

void FrameSteps(RankCapture& rank, const Timeline& timeline) {
  if (rank.step_operations.empty()) {
    return;
  }
  std::vector<std::int64_t> end_ns(rank.steps.size(), INT64_MIN);
  for (const Item& item : timeline.items) {
    if (const std::int32_t step = StepOf(rank, item); step >= 0) {
      std::int64_t& last_ns = end_ns[static_cast<std::size_t>(step)];
      last_ns = std::max(last_ns, item.end_ns - rank.base_ns);
    }
  }
  const auto spans = StepSpans(0, end_ns);
  for (std::size_t i = 0; i < spans.size(); ++i) {
    rank.steps[i].start_ns = spans[i].first;
    rank.steps[i].duration_ns = spans[i].second - spans[i].first;
  }
}

}  // namespace reprise::pytorch
