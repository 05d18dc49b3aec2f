#include "converters/pytorch/rank/kineto_results.h"

#include <algorithm>
#include <cstdint>
#include <optional>

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

std::vector<bool> LaunchedKernels(const DeviceLinks& links, std::size_t operations) {
  std::vector<bool> out(operations, false);
  for (const EventLink& event : links.events) {
    if (event.node >= 0 && event.main) {
      out[static_cast<std::size_t>(event.node)] = true;
    }
  }
  return out;
}

}  // namespace

void InferKinetoResults(const OperationList& list, const std::vector<Classified>& roles,
                        const DeviceLinks& links, const KinetoTrace& kineto, HostTrace& host,
                        Diagnostics& diagnostics) {
  const bool gpu = !kineto.device.empty();
  const std::vector<bool> launched = LaunchedKernels(links, list.operations.size());
  std::int64_t next = HighestTensor(host) + 1;
  for (std::size_t i = 0; i < list.operations.size(); ++i) {
    const Operation& op = list.operations[i];
    const bool computes = roles[i].role == Role::kNode && roles[i].info.kind == OpKind::kWork;
    if (!computes || op.host < 0 || (gpu && !launched[i])) {
      continue;
    }
    HostNode& node = host.nodes[static_cast<std::size_t>(op.host)];
    std::optional<ValueList> results;
    if (!node.values_missing) {
      results = InferResults({.name = *op.name, .inputs = node.inputs, .on_gpu = gpu});
    }
    diagnostics.Count(results ? "results_inferred" : "results_unknown", *op.name);
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
