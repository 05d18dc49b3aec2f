// What Graphviz and GraphML writers share: names, and which nodes and edges. Only et_schema sees
// this.
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>

#include "et_schema/graph_text.h"

namespace reprise {

[[nodiscard]] inline std::string NodeKey(const Graph& graph, Graph::Index i) {
  return fmt::format("r{}n{}", graph.metadata().rank, graph.id(i));
}

// "thread 1", "stream 0/7", "group 0".
[[nodiscard]] inline std::string ActorText(const Graph& graph, Graph::Index i) {
  const Actor actor = graph.actor(i);
  if (const CommSpec* comm = graph.comm(i)) {
    return fmt::format("group {}", comm->group);
  }
  return actor.kind == Actor::Kind::kStream ? fmt::format("stream {}/{}", actor.device, actor.id)
                                            : fmt::format("{} {}", Name(actor.kind), actor.id);
}

// Calls node(i) for every chosen node, then edge(i, d) for every edge between two of them.
template <typename VisitNode, typename VisitEdge>
void Walk(const Graph& graph, std::optional<std::int32_t> step, GraphTextSummary& summary,
          const VisitNode& node, const VisitEdge& edge) {
  const auto chosen = [&](Graph::Index i) { return !step || graph.step(i) == *step; };
  for (Graph::Index i = 0; i < graph.size(); ++i) {
    if (chosen(i)) {
      node(i);
      ++summary.nodes;
    }
  }
  for (Graph::Index i = 0; i < graph.size(); ++i) {
    for (std::size_t d = 0; d < graph.deps(i).size(); ++d) {
      const bool inside = chosen(i) && chosen(graph.deps(i)[d]);
      if (inside) {
        edge(i, d);
        ++summary.edges;
      } else if (chosen(i) || chosen(graph.deps(i)[d])) {
        ++summary.edges_left_out;
      }
    }
  }
}

}  // namespace reprise
