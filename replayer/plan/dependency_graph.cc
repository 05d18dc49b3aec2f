#include "replayer/plan/dependency_graph.h"

namespace reprise {

DependencyGraph DependencyGraph::FromDependencies(std::span<const std::uint32_t> dep_offset,
                                                  std::span<const std::uint32_t> deps) {
  const auto n = static_cast<std::uint32_t>(dep_offset.size() - 1);
  DependencyGraph graph;
  graph.dependency_count.resize(n);
  graph.successor_offset.assign(n + 1, 0);
  for (const std::uint32_t dep : deps) {
    ++graph.successor_offset[dep + 1];
  }
  for (std::uint32_t i = 0; i < n; ++i) {
    graph.successor_offset[i + 1] += graph.successor_offset[i];
    graph.dependency_count[i] = dep_offset[i + 1] - dep_offset[i];
  }
  graph.successors.resize(deps.size());
  std::vector<std::uint32_t> next(graph.successor_offset.begin(), graph.successor_offset.end() - 1);
  for (std::uint32_t i = 0; i < n; ++i) {
    for (std::uint32_t k = dep_offset[i]; k < dep_offset[i + 1]; ++k) {
      graph.successors[next[deps[k]]++] = i;
    }
  }
  return graph;
}

}  // namespace reprise
