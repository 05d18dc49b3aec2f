// A timing graph's edges the other way round, and the members of its matched transfers.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "timing/dry_run.h"

namespace reprise {

// Which node depends on which, and which takes part in which match; both CSR.
struct Wiring {
  std::vector<std::uint32_t> dependent_offset, dependents;
  std::vector<std::uint32_t> member_offset, members;

  [[nodiscard]] std::span<const std::uint32_t> DependentsOf(std::uint32_t i) const {
    return {dependents.data() + dependent_offset[i], dependents.data() + dependent_offset[i + 1]};
  }
  [[nodiscard]] std::span<const std::uint32_t> MembersOf(std::int32_t match) const {
    return {members.data() + member_offset[match], members.data() + member_offset[match + 1]};
  }
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
