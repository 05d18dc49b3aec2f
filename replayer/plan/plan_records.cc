// What a run on disk keeps of a plan.
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "replayer/plan/plan.h"
#include "replayer/plan/training_phases.h"

namespace reprise {
namespace {

std::string_view KernelName(const Work& work, const NameOfKernel& name_of) {
  if (work.kernel != nullptr) {
    return name_of(*work.kernel);
  }
  if (work.IsPart()) {
    return "";
  }
  if (work.source == WorkSource::kCopiedBytes) {
    return Executes(work.mode) ? "memcpy" : "";
  }
  return work.mode == ReplayMode::kSurrogate ? "surrogate" : "";
}

}  // namespace

std::vector<NodeInfo> DescribeNodes(const Graph& graph, const Plan& plan,
                                    const NameOfKernel& name_of) {
  std::vector<NodeInfo> infos;
  infos.reserve(graph.size());
  const std::vector<Phase> phases = FindPhases(graph);
  SharedTexts texts;
  const std::vector<SharedText> shapes(plan.shapes.begin(), plan.shapes.end());
  std::vector<SharedText> actors;
  for (const PlanActor& actor : plan.actors) {
    actors.emplace_back(actor.name);
  }
  for (Graph::Index i = 0; i < graph.size(); ++i) {
    const Work& work = plan.work[i];
    NodeInfo info;
    info.node_id = graph.id(i);
    info.name = texts.Of(graph.name(i));
    info.op_class = graph.op_class(i);
    info.phase = phases[i];
    info.kind = work.type == WorkType::kTransfer ? OpKind::kComm : graph.kind(i);
    info.actor = actors[work.actor];
    info.mode = work.mode;
    info.kernel = texts.Of(KernelName(work, name_of));
    info.shape = shapes[work.shapes];
    info.flops = work.cost.flops;
    info.bytes = work.cost.bytes;
    info.work_from = work.source;
    info.capped = work.capped;
    info.step = work.step;
    info.recorded_start_ns = graph.start_ns(i);
    info.recorded_duration_ns = RecordedWorkNs(graph, i, work);
    info.recorded_elapsed_ns = graph.duration_ns(i);
    info.recorded_delay_ns = graph.delay_ns(i);
    info.recorded_tracing_ns = graph.tracing_ns(i);
    info.counts_for_coverage = work.counts;
    infos.push_back(std::move(info));
  }
  return infos;
}

std::vector<EdgeInfo> DescribeEdges(const Graph& graph) {
  std::vector<EdgeInfo> edges;
  constexpr auto& kReasons = kNamesOf<EdgeReason>;
  const std::vector<SharedText> reasons(kReasons.begin(), kReasons.end());
  for (Graph::Index i = 0; i < graph.size(); ++i) {
    const auto deps = graph.deps(i);
    for (std::size_t k = 0; k < deps.size(); ++k) {
      edges.push_back({graph.id(deps[k]), graph.id(i),
                       reasons[static_cast<std::size_t>(graph.reasons(i)[k])],
                       graph.inferred(i, k)});
    }
  }
  return edges;
}

}  // namespace reprise
