#include "core/timing/wiring.h"

#include <algorithm>

namespace reprise {

Wiring WiringOf(const TimingGraph& graph) {
  std::int32_t matches = 0;
  for (const std::int32_t match : graph.match) {
    matches = std::max(matches, match + 1);
  }
  const auto visit_dependents = [&graph](const auto& add) {
    for (std::uint32_t i = 0; i < graph.size(); ++i) {
      for (const std::uint32_t dep : graph.DepsOf(i)) {
        add(dep, i);
      }
    }
  };
  const auto visit_members = [&graph](const auto& add) {
    for (std::uint32_t i = 0; i < graph.match.size(); ++i) {
      if (graph.match[i] >= 0) {
        add(static_cast<std::size_t>(graph.match[i]), i);
      }
    }
  };
  return {GroupByKey(graph.size(), visit_dependents),
          GroupByKey(static_cast<std::size_t>(matches), visit_members)};
}

}  // namespace reprise
