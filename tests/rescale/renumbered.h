// Nodes with the numbers that name nodes and storages counted anew: for tests that compare
// programs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "tests/rescale/generated_sets.h"

namespace reprise {

// Numbers in the order in which they are first named.
class Renumbered {
 public:
  std::int64_t Of(std::int64_t number) {
    return number < 0 ? number
                      : numbers_.try_emplace(number, static_cast<std::int64_t>(numbers_.size()))
                            .first->second;
  }

 private:
  std::unordered_map<std::int64_t, std::int64_t> numbers_;
};

struct Numbers {
  Renumbered nodes, records, sequences, launches, storages, tensors, memories;

  void Change(ValueList& values) {
    for (Value& value : values) {
      if (TensorDesc* const tensor = value.AsTensor()) {
        tensor->incarnation = storages.Of(tensor->incarnation);
        tensor->tensor_id = tensors.Of(tensor->tensor_id);
        tensor->storage_id = memories.Of(tensor->storage_id);
      } else if (ValueList* const list = value.AsList()) {
        Change(*list);
      }
    }
  }
};

inline std::vector<Node> NodesRenumbered(const TraceSet& set, std::int32_t rank) {
  std::vector<Node> nodes = NodesOf(set, rank);
  std::ranges::stable_sort(nodes, {}, &Node::start_ns);
  Numbers numbers;
  for (Node& node : nodes) {
    node.id = static_cast<std::uint64_t>(numbers.nodes.Of(static_cast<std::int64_t>(node.id)));
    for (Dependency& dependency : node.deps) {
      dependency.node_id = static_cast<std::uint64_t>(
          numbers.nodes.Of(static_cast<std::int64_t>(dependency.node_id)));
    }
    node.rf_id = numbers.records.Of(node.rf_id);
    node.seq_id = numbers.sequences.Of(node.seq_id);
    if (node.device_work) {
      node.device_work->correlation = numbers.launches.Of(node.device_work->correlation);
    }
    numbers.Change(node.inputs);
    numbers.Change(node.outputs);
  }
  return nodes;
}

}  // namespace reprise
