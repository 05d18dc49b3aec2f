#include "replayer/plan/node_origins.h"

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace reprise {
namespace {

// Steps have other numbers in other captures.
std::string CallerOf(const Graph& graph, Graph::Index i) {
  const std::string_view parent = graph.parent(i);
  return parent.starts_with("ProfilerStep#") ? std::string() : std::string(parent);
}

}  // namespace

Result<std::vector<NodeOrigin>> OriginsOf(const Graph& graph) {
  std::vector<NodeOrigin> origins(graph.size());
  for (Graph::Index i = 0; i < graph.size(); ++i) {
    const auto call = graph.Call(i);
    if (!call) {
      return BadInput(
          fmt::format("node {} ({}): {}", graph.id(i), graph.name(i), call.error().message));
    }
    origins[i] = {.caller = CallerOf(graph, i),
                  .module = {},
                  .op = std::string(graph.op(i)),
                  .dtype = ElementType(*call),
                  .call_id = graph.rf_id(i)};
  }
  FillModulePaths(graph, origins);
  return origins;
}

}  // namespace reprise
