// Small timing graphs by hand for the tests of core/timing/.
#pragma once

#include <cstdint>
#include <vector>

#include "core/timing/dry_run.h"

namespace reprise {

struct TestNode {
  std::int64_t delay_ns = 0;
  std::int64_t duration_ns = 0;
  std::vector<std::uint32_t> deps;
  std::int32_t match = -1;
  std::int64_t transfer_ns = 0;
  ArrivalNeed need = ArrivalNeed::kAll;
  bool root = false;
};

inline TimingGraph MakeGraph(const std::vector<TestNode>& nodes) {
  TimingGraph graph;
  graph.dep_offset.push_back(0);
  for (const TestNode& node : nodes) {
    graph.delay_ns.push_back(node.delay_ns);
    graph.duration_ns.push_back(node.duration_ns);
    graph.deps.insert(graph.deps.end(), node.deps.begin(), node.deps.end());
    graph.reasons.resize(graph.deps.size());
    graph.dep_offset.push_back(static_cast<std::uint32_t>(graph.deps.size()));
    graph.match.push_back(node.match);
    graph.transfer_ns.push_back(node.transfer_ns);
    graph.need.push_back(node.need);
    graph.root.push_back(node.root ? 1 : 0);
  }
  return graph;
}

}  // namespace reprise
