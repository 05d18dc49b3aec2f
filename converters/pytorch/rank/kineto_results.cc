// Kineto alone: results of the operations that computed something, as far as they are known.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "converters/pytorch/rank/graph_recordings.h"
#include "converters/pytorch/rank/stages.h"
#include "converters/pytorch/results/infer_results.h"

namespace reprise::pytorch {
namespace {

// Host nodes that were given tensors have ids up to this.
std::int64_t HighestTensor(const HostTrace& host) {
  std::int64_t highest = 0;
  for (const HostNode& node : host.nodes) {
    for (const Value& value : node.inputs) {
      if (const TensorDesc* tensor = value.AsTensor()) {
        highest = std::max({highest, tensor->tensor_id, tensor->storage_id});
      }
    }
  }
  return highest;
}

std::vector<bool> LaunchedKernels(const RankCapture& rank) {
  std::vector<bool> out(rank.list.operations.size(), false);
  for (const EventLink& event : rank.links.events) {
    if (event.node >= 0 && event.main) {
      out[static_cast<std::size_t>(event.node)] = true;
    }
  }
  for (const std::int32_t operation : RecordedOperations(rank)) {
    out[static_cast<std::size_t>(operation)] = true;
  }
  return out;
}

}  // namespace

void InferKinetoResults(RankCapture& rank) {
  const bool gpu = !rank.kineto.device.empty();
  const std::vector<bool> launched = LaunchedKernels(rank);
  std::int64_t next = HighestTensor(rank.host) + 1;
  for (std::int32_t i = 0; i < rank.OperationCount(); ++i) {
    HostNode* const host = rank.HostOf(i);
    const bool computes = rank.RoleOf(i) == Role::kNode && rank.InfoOf(i).kind == OpKind::kWork;
    if (!computes || host == nullptr || (gpu && !launched[static_cast<std::size_t>(i)])) {
      continue;
    }
    HostNode& node = *host;
    const std::string& name = *rank.Op(i).name;
    std::optional<ValueList> results;
    if (!node.values_missing) {
      results = InferResults({.name = name, .inputs = node.inputs, .on_gpu = gpu});
    }
    rank.diagnostics.Count(results ? "results_inferred" : "results_unknown", name);
    if (!results) {
      continue;
    }
    for (Value& value : *results) {
      TensorDesc* tensor = value.AsTensor();
      if (tensor != nullptr && tensor->storage_id == 0) {
        tensor->tensor_id = tensor->storage_id = next++;
      }
    }
    node.outputs = std::move(*results);
    node.results_inferred = true;
  }
}

}  // namespace reprise::pytorch
