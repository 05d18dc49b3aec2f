// Cost from the operands alone, for calls that no rule describes.
#include <algorithm>
#include <array>
#include <string_view>

#include "core/costs/cost.h"
#include "core/costs/operands.h"
#include "core/operators.h"

namespace reprise {
namespace {

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

// What a lookup reads of its tables, which are no longer among its operands then.
struct Lookup {
  double elements = 0;
  double bytes = 0;
};

// Elements of one row that an index stands for. A pooled lookup adds up the rows of a bag: the
// tensor of where bags begin has one entry more than there are bags (of all tables), and each bag
// has a row in the result. Without such a tensor, a whole row of the result: an upper bound.
std::int64_t RowElements(const std::vector<const TensorDesc*>& inputs, std::int64_t indices,
                         const TensorDesc& result) {
  const std::int64_t elements = ElementCount(result.shape);
  const std::int64_t width = result.shape.empty() ? 1 : result.shape.back();
  if (indices * width == elements) {
    return width;  // not pooled: a row of the result for each index
  }
  const std::int64_t rows = result.shape.empty() ? 1 : std::max<std::int64_t>(result.shape[0], 1);
  for (const TensorDesc* tensor : inputs) {
    const std::int64_t bags = ElementCount(tensor->shape) - 1;
    if (IsIntegral(tensor->dtype) && bags > 0 && bags % rows == 0 && elements % bags == 0) {
      return elements / bags;
    }
  }
  return width;
}

// Embeddings of PyTorch, FBGEMM and the like: an index touches a row. The tables are the operands
// that are larger than all rows touched.
Lookup TakeEmbeddingTables(std::vector<const TensorDesc*>& inputs, const TensorDesc& result) {
  std::int64_t indices = 0;
  for (const TensorDesc* tensor : inputs) {
    if (IsIntegral(tensor->dtype)) {
      indices = std::max(indices, ElementCount(tensor->shape));
    }
  }
  const auto touched = static_cast<double>(indices * RowElements(inputs, indices, result));
  Lookup lookup;
  std::erase_if(inputs, [&](const TensorDesc* tensor) {
    const bool table =
        IsFloating(tensor->dtype) && static_cast<double>(ElementCount(tensor->shape)) > touched;
    lookup.elements += table ? touched : 0;
    lookup.bytes += table ? touched * SizeOf(tensor->dtype) : 0;
    return table;
  });
  return lookup;
}

// Selections: of the first operand, as many elements as the result has.
Lookup TakeSource(std::vector<const TensorDesc*>& inputs, const TensorDesc& result) {
  const auto elements = static_cast<double>(
      std::min(ElementCount(inputs.front()->shape), ElementCount(result.shape)));
  const int element_bytes = SizeOf(inputs.front()->dtype);
  inputs.erase(inputs.begin());
  return {elements, elements * element_bytes};
}

Lookup TakeTables(std::string_view name, std::vector<const TensorDesc*>& inputs,
                  const TensorDesc& result) {
  constexpr std::array<std::string_view, 5> kSelections = {
      "aten::index", "aten::index_select", "aten::gather", "aten::_unsafe_index", "aten::take"};
  if (std::find(kSelections.begin(), kSelections.end(), name) != kSelections.end()) {
    return TakeSource(inputs, result);
  }
  const auto has = [name](std::string_view part) {
    return name.find(part) != std::string_view::npos;
  };
  const bool embeds = (has("embedding") || has("lookup")) && !has("backward");
  return embeds ? TakeEmbeddingTables(inputs, result) : Lookup{};
}

}  // namespace

Cost EstimateCost(const OpCall& call) {
  auto inputs = TensorsIn(call.inputs);
  const auto outputs = TensorsIn(call.outputs);
  Cost cost;
  if (!inputs.empty() && !outputs.empty()) {
    const Lookup lookup = TakeTables(call.name, inputs, *outputs.front());
    cost = {lookup.elements, lookup.bytes};
  }
  cost.bytes += cost_rules::Bytes(inputs) + cost_rules::Bytes(outputs);
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
  return Cost{cost.flops, cost.bytes};
}

}  // namespace reprise
