#include "predict/simulator/power/power_nodes.h"

#include <map>
#include <string>
#include <tuple>

#include "predict/simulator/device_operations.h"

namespace reprise {

std::vector<PoweredNode> PoweredNodesOf(const PoweredRank& rank, const Network& network) {
  std::vector<PoweredNode> nodes;
  std::map<std::tuple<std::string, std::int32_t, bool>, GroupShape> shapes;
  for (Graph::Index i = 0; i < rank.graph.size(); ++i) {
    PoweredNode node{.node = rank.first + i, .op_class = rank.graph.op_class(i)};
    if (const CommSpec* const spec = rank.graph.comm(i); spec != nullptr) {
      if (spec->outside || !LacksOf(*spec).empty()) {
        continue;
      }
      const bool pair = IsPointToPoint(spec->kind);
      const auto [at, added] = shapes.try_emplace({spec->group, pair ? spec->peer : -1, pair});
      if (added) {
        const std::vector<std::int32_t> members = rank.members(*spec);
        at->second = members.size() < 2 ? GroupShape{} : network.ShapeOf(members);
      }
      const auto bytes =
          static_cast<double>(AlgorithmBytes(*spec, static_cast<int>(at->second.members)));
      node.transfer = true;
      node.op_class = OpClass::kComm;
      node.energy = TransferEnergy(network.machine(), spec->kind, bytes, at->second);
    } else if (IsOperation(rank.graph, i, rank.streams)) {
      const OperatorWork work = rank.work(i);
      if (work.known) {
        node.energy = OperationEnergy(network.machine().device, work);
      }
    }
    if (node.energy.any()) {
      nodes.push_back(node);
    }
  }
  return nodes;
}

}  // namespace reprise
