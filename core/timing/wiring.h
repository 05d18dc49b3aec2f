// A timing graph's edges the other way round, and the members of its matched transfers.
#pragma once

#include <cstdint>

#include "core/grouped.h"
#include "core/timing/dry_run.h"

namespace reprise {

struct Wiring {
  Grouped dependents;  // by node: the nodes that depend on it
  Grouped members;     // by match: the nodes that take part in it
};

// Of a graph whose arrays fit together: EventOrder::Find checks that.
[[nodiscard]] Wiring WiringOf(const TimingGraph& graph);

[[nodiscard]] inline std::int32_t MatchOf(const TimingGraph& graph, std::uint32_t i) {
  return graph.match.empty() ? -1 : graph.match[i];
}
[[nodiscard]] inline ArrivalNeed NeedOf(const TimingGraph& graph, std::uint32_t i) {
  return graph.need.empty() ? ArrivalNeed::kAll : graph.need[i];
}
[[nodiscard]] inline bool IsRoot(const TimingGraph& graph, std::uint32_t i) {
  return !graph.root.empty() && graph.root[i] != 0;
}

}  // namespace reprise
