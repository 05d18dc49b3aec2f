#include <algorithm>
#include <functional>
#include <map>
#include <string>

#include "replayer/plan/timing_graph.h"
#include "report/recordings/read.h"

namespace reprise {

std::vector<PathPart> CriticalPathOf(std::span<const Graph* const> graphs) {
  const TimingTrace trace = graphs.size() == 1 ? TimingOfRank(*graphs[0]) : TimingOfSet(graphs);
  const auto schedule = DryRun(trace.graph);
  if (!schedule) {
    return {};
  }
  std::map<std::string, std::int64_t> parts;
  const std::vector<std::uint32_t> path = CriticalPath(trace.graph, *schedule);
  // Last first: between the end of one and the start of the next is delay.
  for (std::size_t p = 0; p < path.size(); ++p) {
    const std::uint32_t node = path[p];
    const auto [position, index] = trace.Locate(node);
    const Graph& graph = *graphs[position];
    const std::int64_t end_ns = schedule->end_ns[node];
    const std::int64_t begin_ns = p + 1 < path.size() ? std::clamp(schedule->end_ns[path[p + 1]],
                                                                   schedule->start_ns[node], end_ns)
                                                      : schedule->start_ns[node];
    parts[graph.kind(index) == OpKind::kWait ? "waiting"
                                             : std::string(Name(graph.op_class(index)))] +=
        end_ns - begin_ns;
    if (p + 1 < path.size()) {
      parts["delay"] +=
          std::max<std::int64_t>(schedule->start_ns[node] - schedule->end_ns[path[p + 1]], 0);
    }
  }
  std::vector<PathPart> out;
  for (const auto& [name, ns] : parts) {
    if (ns != 0) {
      out.push_back({name, ns});
    }
  }
  std::ranges::stable_sort(out, std::greater(), &PathPart::ns);
  return out;
}

}  // namespace reprise
