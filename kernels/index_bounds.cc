// Which integer inputs are indices, and into what: replayed indices are drawn below these bounds.
#include <algorithm>

#include "core/operator_arguments.h"
#include "core/operator_table.h"
#include "kernels/views.h"

namespace reprise {
namespace {

using Bounds = std::unordered_map<std::int64_t, std::int64_t>;

void Bound(Bounds& bounds, const TensorDesc* index, std::int64_t limit) {
  if (index == nullptr || !IsIntegral(index->dtype) || index->dtype == DType::kBool || limit < 1) {
    return;
  }
  const auto [it, inserted] = bounds.emplace(index->incarnation, limit);
  if (!inserted) {
    it->second = std::min(it->second, limit);  // used twice: valid for both
  }
}

// 0 if there is no such tensor or dimension.
std::int64_t Extent(const TensorDesc* tensor, std::int64_t dim) {
  const auto at = tensor == nullptr ? std::nullopt : WrapDim(dim, Rank(*tensor));
  return at ? ExtentOf(*tensor, *at) : 0;
}

// ---- The rules of core/operator_rules.def.
namespace bound_rules {

// embedding(weight, indices, …)
void RowsOfFirst(const OpCall& call, Bounds& bounds) {
  Bound(bounds, call.InputTensor(1), Extent(call.InputTensor(0), 0));
}

// nll_loss(self, target, …): classes are the second dimension, or the only one.
void Classes(const OpCall& call, Bounds& bounds) {
  const ArgumentPlaces& places = ArgumentPlaces::Of(call.name);
  const TensorDesc* x = places.Tensor(call, "x");
  const std::int64_t dim = x != nullptr && x->shape.size() > 1 ? 1 : 0;
  Bound(bounds, places.Tensor(call, "target"), Extent(x, dim));
}

// (self, dim, index, …): the dimension is an argument.
void AlongDimension(const OpCall& call, Bounds& bounds) {
  const auto dim = call.Argument(1).AsNumber<std::int64_t>(0);
  Bound(bounds, call.InputTensor(2), Extent(call.InputTensor(0), dim));
}

// (self, [index or none per dimension], …)
void EachDimension(const OpCall& call, Bounds& bounds) {
  const ValueList* list = call.Argument(1).AsList();
  if (list == nullptr) {
    return;
  }
  for (std::size_t d = 0; d < list->size(); ++d) {
    const TensorDesc* index = (*list)[d].AsTensor();
    if (index != nullptr && index->IsDefined()) {
      Bound(bounds, index, Extent(call.InputTensor(0), static_cast<std::int64_t>(d)));
    }
  }
}

// take(self, index): of the elements in a row.
void ElementsOfFirst(const OpCall& call, Bounds& bounds) {
  if (const TensorDesc* self = call.InputTensor(0)) {
    Bound(bounds, call.InputTensor(1), Count(*self));
  }
}

// embedding_dense_backward(grad, indices, num_weights, …)
void TableRows(const OpCall& call, Bounds& bounds) {
  Bound(bounds, call.InputTensor(1), call.Argument(2).AsNumber<std::int64_t>(0));
}

// _embedding_bag_dense_backward(grad, indices, offset2bag, bag_size, maximum_indices, num_weights,
// …): every index of which row, which bag, and every maximum of which row.
void BagRows(const OpCall& call, Bounds& bounds) {
  Bound(bounds, call.InputTensor(2), Extent(call.InputTensor(0), 0));
  const auto rows = call.Argument(5).AsNumber<std::int64_t>(0);
  Bound(bounds, call.InputTensor(1), rows);
  Bound(bounds, call.InputTensor(4), rows);
}

// bincount(self, weights, minlength): the output's length is data; stay inside the recorded one.
void Bins(const OpCall& call, Bounds& bounds) {
  Bound(bounds, call.InputTensor(0), Extent(call.OutputTensor(0), 0));
}

}  // namespace bound_rules

}  // namespace

Bounds IndexBounds(const OpCall& call) {
  using Rule = void (*)(const OpCall&, Bounds&);
  static constexpr Rule kRules[] = {
      nullptr,
#define BOUND_RULE(name) bound_rules::name,
#include "core/operator_rules.def"
  };
  Bounds bounds;
  const OperatorRow* row = FindOperatorRow(call.name);
  if (row != nullptr && row->bounds != BoundRule::kNone) {
    kRules[static_cast<std::size_t>(row->bounds)](call, bounds);
  }
  return bounds;
}

}  // namespace reprise
