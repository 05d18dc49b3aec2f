#include "replayer/engine/planned_launches.h"

#include <fmt/format.h>

#include <iterator>
#include <utility>

#include "replayer/plan/known_work.h"

namespace reprise {
namespace {

Result<std::vector<Launch>> LowerNode(const Graph& graph, Graph::Index i, const Work& work,
                                      const CallLowering& lowering, const LowerContext& context) {
  if (work.mode == ReplayMode::kSurrogate) {
    return LowerSurrogate(work.cost, lowering, context);
  }
  if (work.kernel == nullptr) {
    return LowerMemcpy(MovedBytes(graph, i), OnlyFills(graph, i), context);
  }
  REPRISE_ASSIGN(const OpCall call, graph.Call(i));
  return lowering.Lower(*work.kernel, call, context);
}

// Work that nothing does is not known.
void HoldUnknown(const Graph& graph, Graph::Index i, const ReplayOptions& options, Plan& plan) {
  HoldForRecordedTime(graph, i, options, plan);
  plan.work[i].source = WorkSource::kUnknown;
  plan.work[i].part_of = Work::kNoPart;
}

}  // namespace

Result<PlannedLaunches> LowerPlan(const Graph& graph, const ReplayOptions& options,
                                  const Bindings& memory, const DeviceInfo& device,
                                  const CallLowering& lowering, const ActorScratch& scratch,
                                  Plan& plan) {
  PlannedLaunches planned;
  planned.begin.push_back(0);
  for (Graph::Index i = 0; i < graph.size(); ++i) {
    const Work& work = plan.work[i];
    if (work.Computes() && !work.IsPart()) {
      const LowerContext context{memory, device, [&](int slot, std::int64_t bytes) {
                                   return scratch(work.actor, slot, bytes);
                                 }};
      auto lowered = LowerNode(graph, i, work, lowering, context);
      if (!lowered) {
        return reprise::Fail(
            lowered.error().kind,
            fmt::format("node {} ({}): {}", graph.id(i), graph.name(i), lowered.error().message));
      }
      if (work.kernel == nullptr && !device.is_cpu && CrossesToHost(graph, i)) {
        plan.work[i].mode = ReplayMode::kSurrogate;  // the bytes move, but not over the bus
      }
      if (lowered->empty() && !work.no_elements) {
        HoldUnknown(graph, i, options, plan);
        plan.diagnostics.Count(fmt::format("nothing_to_launch: {}", graph.name(i)),
                               fmt::format("node {}", graph.id(i)));
      }
      std::move(lowered->begin(), lowered->end(), std::back_inserter(planned.launches));
    }
    planned.begin.push_back(static_cast<std::uint32_t>(planned.launches.size()));
  }
  for (Graph::Index i = 0; i < graph.size(); ++i) {
    if (plan.work[i].IsPart() && plan.work[i].Computes() &&
        !plan.work[plan.work[i].part_of].Computes()) {
      HoldUnknown(graph, i, options, plan);
    }
  }
  return planned;
}

}  // namespace reprise
