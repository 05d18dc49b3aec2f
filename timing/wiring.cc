#include "timing/wiring.h"

#include <algorithm>

namespace reprise {
namespace {

// By counting, as CSR: `offset` gets where each key's values begin, in the order of `visit`.
template <typename Visit>
void GroupByKey(std::size_t keys, const Visit& visit, std::vector<std::uint32_t>& offset,
                std::vector<std::uint32_t>& values) {
  offset.assign(keys + 1, 0);
  visit([&](std::size_t key, std::uint32_t /*value*/) { ++offset[key + 1]; });
  for (std::size_t key = 0; key < keys; ++key) {
    offset[key + 1] += offset[key];
  }
  values.resize(offset.back());
  std::vector<std::uint32_t> next(offset);
  visit([&](std::size_t key, std::uint32_t value) { values[next[key]++] = value; });
}

void ConnectMembers(const TimingGraph& graph, Wiring& wiring) {
  std::int32_t matches = 0;
  for (const std::int32_t match : graph.match) {
    matches = std::max(matches, match + 1);
  }
  const auto members = [&graph](const auto& add) {
    for (std::uint32_t i = 0; i < graph.match.size(); ++i) {
      if (graph.match[i] >= 0) {
        add(static_cast<std::size_t>(graph.match[i]), i);
      }
    }
  };
  GroupByKey(static_cast<std::size_t>(matches), members, wiring.member_offset, wiring.members);
}

void ConnectDependents(const TimingGraph& graph, Wiring& wiring) {
  const auto dependents = [&graph](const auto& add) {
    for (std::uint32_t i = 0; i < graph.size(); ++i) {
      for (const std::uint32_t dep : graph.DepsOf(i)) {
        add(dep, i);
      }
    }
  };
  GroupByKey(graph.size(), dependents, wiring.dependent_offset, wiring.dependents);
}

}  // namespace

Wiring WiringOf(const TimingGraph& graph) {
  Wiring wiring;
  ConnectMembers(graph, wiring);
  ConnectDependents(graph, wiring);
  return wiring;
}

}  // namespace reprise
