// Reading and writing by index or mask.
#include <algorithm>

#include "core/costs/operands.h"
#include "core/costs/rules.h"
#include "core/operator_arguments.h"

namespace reprise::cost_rules {
namespace {

bool IsMask(const TensorDesc* tensor) {
  return tensor->dtype == DType::kBool || tensor->dtype == DType::kUInt8;
}

// A comparison for each element of a mask.
double MaskTests(const std::vector<const TensorDesc*>& indices) {
  double tests = 0;
  for (const TensorDesc* index : indices) {
    tests += IsMask(index) ? Elements(index) : 0;
  }
  return tests;
}

// What indices (None, masks or integers, one for each dimension from the first on) select of
// `self`. How much a mask selects is data: as much as there are values, if these are in rows; else
// all.
double Selected(const TensorDesc& self, const ValueList& indices, const TensorDesc& values) {
  double kept = 1;  // dimensions without an index
  std::size_t d = 0;
  std::int64_t mask_dims = 0;
  std::vector<const TensorDesc*> integers;
  for (const Value& value : indices) {
    const TensorDesc* index = value.AsTensor();
    if (index == nullptr || !index->IsDefined()) {
      kept *= d < self.shape.size() ? static_cast<double>(self.shape[d]) : 1;
      ++d;
    } else if (IsMask(index)) {
      mask_dims += static_cast<std::int64_t>(index->shape.size());
      d += index->shape.size();
    } else {
      integers.push_back(index);
      ++d;
    }
  }
  for (; d < self.shape.size(); ++d) {
    kept *= static_cast<double>(self.shape[d]);
  }
  if (mask_dims == 0) {
    return kept * BroadcastElements(integers);
  }
  const auto rank = static_cast<std::int64_t>(self.shape.size()) - mask_dims + 1;
  const bool in_rows =
      Elements(&values) > kept && static_cast<std::int64_t>(values.shape.size()) == rank;
  return in_rows ? Elements(&values) : Elements(&self);
}

// `written` elements of self in place, or of a copy of it.
Cost Written(const OpCall& call, const TensorDesc& self, double written, double read_bytes,
             bool adds) {
  if (InPlace(call)) {
    return {adds ? written : 0, read_bytes + written * SizeOf(self.dtype) * (adds ? 2 : 1)};
  }
  return {adds ? written : 0, read_bytes + Bytes(&self) + ResultBytes(call)};
}

}  // namespace

// Rows that indices name are read and written.
std::optional<Cost> Embedding(const OpCall& call) {
  const TensorDesc* out = call.OutputTensor(0);
  return out == nullptr ? std::nullopt
                        : std::optional(Cost{0, 2 * Bytes(out) + Bytes(call.InputTensor(1))});
}

// embedding_dense_backward(grad, indices, …): the whole table is written, each row of the gradient
// added once.
std::optional<Cost> EmbeddingBackward(const OpCall& call) {
  return Cost{Elements(call.InputTensor(0)), OperandBytes(call)};
}

// The elements of rows that indices name are added or compared, and scaled where indices have
// weights.
std::optional<Cost> EmbeddingBag(const OpCall& call) {
  const ArgumentPlaces& places = ArgumentPlaces::Of(call.name);
  const TensorDesc* table = places.Tensor(call, "table");
  const TensorDesc* index = places.Tensor(call, "index");
  if (table == nullptr || index == nullptr || table->shape.size() != 2) {
    return std::nullopt;
  }
  const double moved = Elements(index) * static_cast<double>(table->shape[1]);
  const bool weighted = places.Tensor(call, "weights") != nullptr;
  return Cost{moved * (weighted ? 2 : 1),
              OperandBytes(call) - Bytes(table) + moved * SizeOf(table->dtype)};
}

// _embedding_bag_dense_backward(grad, indices, …): a bag's gradient is added for each of its
// indices, scaled for weights and means; a maximum's goes to one row.
std::optional<Cost> EmbeddingBagBackward(const OpCall& call) {
  const ArgumentPlaces& places = ArgumentPlaces::Of(call.name);
  const TensorDesc* grad = places.Tensor(call, "grad");
  const TensorDesc* index = places.Tensor(call, "index");
  if (grad == nullptr || index == nullptr || grad->shape.size() != 2) {
    return std::nullopt;
  }
  constexpr double kMeanMode = 1;
  constexpr double kMaxMode = 2;
  const double mode = places.Number(call, "mode", 0);
  const double moved =
      mode == kMaxMode ? Elements(grad) : Elements(index) * static_cast<double>(grad->shape[1]);
  const bool scaled = mode == kMeanMode || places.Tensor(call, "weights") != nullptr;
  return Cost{moved * (scaled ? 2 : 1), OperandBytes(call)};
}

// index, index_select, gather, take, masked_select: as much is read as selected.
std::optional<Cost> Select(const OpCall& call) {
  const TensorDesc* out = call.OutputTensor(0);
  const TensorDesc* self = call.InputTensor(0);
  if (out == nullptr || self == nullptr) {
    return std::nullopt;
  }
  auto indices = TensorsIn(call.inputs);
  indices.erase(indices.begin());
  return Cost{MaskTests(indices), 2 * Bytes(out) + Bytes(indices)};
}

// index_put(self, indices, values, accumulate)
std::optional<Cost> Put(const OpCall& call) {
  const TensorDesc* self = call.InputTensor(0);
  const ValueList* list = call.Argument(1).AsList();
  const TensorDesc* values = call.InputTensor(2);
  if (self == nullptr || list == nullptr || values == nullptr) {
    return std::nullopt;
  }
  const auto indices = TensorsIn(*list);
  Cost cost = Written(call, *self, Selected(*self, *list, *values), Bytes(indices) + Bytes(values),
                      IsTrue(call.Argument(3), false));
  return Cost{cost.flops + MaskTests(indices), cost.bytes};
}

// scatter(self, dim, index, source or number): one element for each of the index.
// index_add(self, dim, index, source, alpha), index_copy, index_fill: a row for each.
std::optional<Cost> PutAlong(const OpCall& call) {
  const TensorDesc* self = call.InputTensor(0);
  const TensorDesc* index = call.InputTensor(2);
  if (self == nullptr || index == nullptr) {
    return std::nullopt;
  }
  double written = Elements(index);
  if (call.name.starts_with("aten::index_") && !self->shape.empty()) {
    const auto rank = static_cast<std::int64_t>(self->shape.size());
    std::int64_t dim = call.Argument(1).AsNumber<std::int64_t>(0);
    dim += dim < 0 ? rank : 0;
    for (std::int64_t d = 0; d < rank; ++d) {
      written *= d == dim ? 1 : static_cast<double>(self->shape[static_cast<std::size_t>(d)]);
    }
  }
  const bool index_adds = call.name.starts_with("aten::index_add");
  const bool adds = index_adds || call.name.starts_with("aten::scatter_add") ||
                    call.name.starts_with("aten::scatter_reduce");
  const Cost cost = Written(call, *self, written, Bytes(index) + Bytes(call.InputTensor(3)), adds);
  const bool scales = index_adds && call.Argument(4).AsNumber<double>(1) != 1;
  return Cost{cost.flops + (scales ? written : 0), cost.bytes};
}

// A comparison for each element; the places are written.
std::optional<Cost> Nonzero(const OpCall& call) {
  return Cost{Elements(call.InputTensor(0)), OperandBytes(call)};
}

// masked_scatter(self, mask, source): a comparison for each element. Of the source, at most as much
// as there are places.
std::optional<Cost> MaskedScatter(const OpCall& call) {
  const TensorDesc* self = call.InputTensor(0);
  const TensorDesc* mask = call.InputTensor(1);
  const TensorDesc* source = call.InputTensor(2);
  if (self == nullptr || mask == nullptr || source == nullptr) {
    return std::nullopt;
  }
  const double taken = std::min(Elements(source), Elements(self));
  const double moved = taken * SizeOf(source->dtype);
  const Cost cost = Written(call, *self, taken, Bytes(mask) + moved, false);
  return Cost{BroadcastElements({self, mask}), cost.bytes};
}

}  // namespace reprise::cost_rules
