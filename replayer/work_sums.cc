#include "replayer/work_sums.h"

namespace reprise {

void WorkSums::Add(const WorkSums& other) {
  recorded_ns += other.recorded_ns;
  unknown_ns += other.unknown_ns;
  nodes += other.nodes;
  unknown_nodes += other.unknown_nodes;
  shapes = shapes || other.shapes;
}

UnknownWork WorkSums::Unknown() const {
  const auto share = [](auto part, auto all) {
    return all > 0 ? static_cast<double>(part) / static_cast<double>(all) : 0;
  };
  const bool timed = recorded_ns > 0;
  return {.share = timed ? share(unknown_ns, recorded_ns) : share(unknown_nodes, nodes),
          .timed = timed,
          .shapes = shapes};
}

WorkSums SumWork(const Graph& graph, const Plan& plan) {
  WorkSums sums;
  for (Graph::Index i = 0; i < graph.size(); ++i) {
    const Work& work = plan.work[i];
    if (!work.counts) {
      continue;
    }
    const bool unknown = work.source == WorkSource::kUnknown;
    const std::int64_t recorded_ns = RecordedWorkNs(graph, i, work);
    sums.recorded_ns += recorded_ns;
    sums.unknown_ns += unknown ? recorded_ns : 0;
    ++sums.nodes;
    sums.unknown_nodes += unknown ? 1 : 0;
    sums.shapes =
        sums.shapes || work.source == WorkSource::kArguments || work.source == WorkSource::kCounts;
  }
  return sums;
}

}  // namespace reprise
