// Cost from the operands alone, for calls that no kernel describes.
#include <algorithm>

#include "kernels/kernel.h"

namespace reprise {
namespace {

double BytesOf(const std::vector<const TensorDesc*>& tensors) {
  double bytes = 0;
  for (const TensorDesc* tensor : tensors) {
    bytes += static_cast<double>(ElementCount(tensor->shape)) * SizeOf(tensor->dtype);
  }
  return bytes;
}

// Two neighbouring operands that share the inner dimension K: 2·K for each element of the result.
double GemmFlops(const std::vector<const TensorDesc*>& inputs, const TensorDesc& output) {
  double largest = 0;
  for (std::size_t i = 0; i + 1 < inputs.size(); ++i) {
    const auto& a = inputs[i]->shape;
    const auto& b = inputs[i + 1]->shape;
    if (a.size() >= 2 && b.size() >= 2 && a.back() == b[b.size() - 2]) {
      largest = std::max(largest, 2.0 * static_cast<double>(ElementCount(output.shape)) *
                                      static_cast<double>(a.back()));
    }
  }
  return largest;
}

}  // namespace

Cost EstimateCost(const OpCall& call) {
  const auto inputs = TensorsIn(call.inputs);
  const auto outputs = TensorsIn(call.outputs);
  Cost cost;
  cost.bytes = BytesOf(inputs) + BytesOf(outputs);
  // One operation for each element of the largest operand, unless the class says more.
  for (const auto& tensors : {inputs, outputs}) {
    for (const TensorDesc* tensor : tensors) {
      cost.flops = std::max(cost.flops, static_cast<double>(ElementCount(tensor->shape)));
    }
  }
  const std::optional<OpInfo> info = FindOperator(call.name);
  if (info && info->op_class == OpClass::kGemm && !outputs.empty()) {
    cost.flops = std::max(cost.flops, GemmFlops(inputs, *outputs.front()));
  }
  return cost;
}

}  // namespace reprise
