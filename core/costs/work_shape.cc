// Sizes of products and attention.
#include <algorithm>

#include "core/costs/call_meaning.h"
#include "core/costs/cost.h"
#include "core/costs/steps.h"
#include "core/operator_arguments.h"
#include "core/operator_table.h"

namespace reprise {
namespace {

// Product of all dimensions but the last `kept`.
float Leading(const TensorDesc& tensor, std::size_t kept) {
  double count = 1;
  for (std::size_t d = 0; d + kept < tensor.shape.size(); ++d) {
    count *= static_cast<double>(tensor.shape[d]);
  }
  return static_cast<float>(count);
}

float Extent(const TensorDesc& tensor, std::size_t from_last) {
  const std::size_t dims = tensor.shape.size();
  return from_last < dims ? static_cast<float>(tensor.shape[dims - 1 - from_last]) : 1;
}

// An empty product has no shape: no rate depends on it.
WorkShape WithWork(const WorkShape& shape) {
  return shape.m > 0 && shape.n > 0 && shape.k > 0 && shape.batch > 0 ? shape : WorkShape{};
}

WorkShape ShapeOfProduct(const OpCall& call) {
  const ArgumentPlaces& places = ArgumentPlaces::Of(call.name);
  const TensorDesc* const a = places.Tensor(call, "a");
  const TensorDesc* const b = places.Tensor(call, "b");
  const TensorDesc* const rows = places.Tensor(call, "rows");  // B transposed
  if (a == nullptr || a->shape.empty() || (b == nullptr && rows == nullptr)) {
    return {};
  }
  WorkShape shape{.kind = WorkShapeKind::kProduct,
                  .k = Extent(*a, 0) * static_cast<float>(ValuesPerElement(a->dtype)),
                  .batch = 1};
  if (const TensorDesc* const ends = places.Tensor(call, "ends"); ends != nullptr && b != nullptr) {
    // Rows of A, or the inner dimension, in groups of about the same size.
    const float groups = Leading(*ends, 0);
    const bool rows_grouped = b->shape.size() > 2;
    return WithWork({.kind = WorkShapeKind::kProduct,
                     .m = rows_grouped ? Extent(*a, 1) / groups : Extent(*a, 1),
                     .n = Extent(*b, 0),
                     .k = rows_grouped ? Extent(*a, 0) : Extent(*a, 0) / groups,
                     .batch = groups});
  }
  const bool batched = b != nullptr && b->shape.size() > 2 && a->shape.size() > 1;
  if (batched) {
    shape.batch = Leading(*b, 2);
    shape.m = Extent(*a, 1);
  } else {
    shape.m = Leading(*a, 1);
  }
  if (rows != nullptr) {
    shape.n = rows->shape.size() > 1 ? Extent(*rows, 1) : 1;
  } else {
    shape.n = b->shape.size() > 1 ? Extent(*b, 0) : 1;
  }
  return WithWork(shape);
}

WorkShape ShapeOfAttention(const OpCall& call) {
  const ArgumentPlaces& places = ArgumentPlaces::Of(call.name);
  const TensorDesc* const q = places.Tensor(call, "q");
  const TensorDesc* const k = places.Tensor(call, "k");
  constexpr std::size_t kDims = 4;
  if (const std::vector<OpCall> sequences = PackedSequences(call); !sequences.empty()) {
    // As many as there are, of their mean length.
    WorkShape mean = ShapeOfAttention(sequences.front());
    const auto count = static_cast<float>(sequences.size());
    mean.m = static_cast<float>(q->shape[0]) / count;
    mean.n = std::min(mean.n > 0 && AttentionWindow(call).value_or(0) > 0
                          ? static_cast<float>(*AttentionWindow(call))
                          : mean.m,
                      mean.m);
    mean.batch *= count;
    return WithWork(mean);
  }
  if (q == nullptr || k == nullptr || q->shape.size() != kDims || k->shape.size() != kDims) {
    return {};
  }
  const std::size_t tokens = places.Has("tokens_first") ? 1 : 2;
  const auto extent = [](const TensorDesc& t, std::size_t d) {
    return static_cast<float>(t.shape[d]);
  };
  const float keys = extent(*k, tokens);
  const std::int64_t window = AttentionWindow(call).value_or(0);
  return WithWork({.kind = places.Has("out_grad") ? WorkShapeKind::kAttentionBackward
                                                  : WorkShapeKind::kAttention,
                   .m = extent(*q, tokens),
                   .n = window > 0 ? std::min(keys, static_cast<float>(window)) : keys,
                   .k = extent(*q, 3),
                   .batch = extent(*q, 0) * extent(*q, 3 - tokens)});
}

}  // namespace

WorkShape WorkShapeOf(const OpCall& call) {
  const OperatorRow* const row = FindOperatorRow(call.name);
  switch (row == nullptr ? CostRule::kNone : row->cost) {
    case CostRule::kProduct:
      return ShapeOfProduct(call);
    case CostRule::kActivatedProduct:
      return ShapeOfProduct(ActivatedProductSteps(call)[0]);
    case CostRule::kAttention:
      return ShapeOfAttention(call);
    default:
      return {};
  }
}

}  // namespace reprise
