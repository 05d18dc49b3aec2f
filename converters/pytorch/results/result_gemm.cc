// Matrix products: contiguous results of the operands' one type.
#include <cstddef>

#include "converters/pytorch/results/result_layouts.h"
#include "converters/pytorch/results/result_rules.h"

namespace reprise::pytorch {
namespace {

// (n, k) (k, m); with a batch in front; (n, k) (k); (k) (k).
std::optional<Shape> ProductShape(const TensorDesc& a, const TensorDesc& b) {
  const std::size_t rank = a.shape.size();
  if (a.dtype != b.dtype || rank == 0 || rank > 3 || b.shape.empty()) {
    return std::nullopt;
  }
  const bool vector = b.shape.size() == 1;
  if (vector ? rank > 2 : b.shape.size() != rank) {
    return std::nullopt;
  }
  if (a.shape.back() != b.shape[vector ? 0 : rank - 2] || (rank == 3 && a.shape[0] != b.shape[0])) {
    return std::nullopt;
  }
  Shape shape(a.shape.begin(), a.shape.end() - 1);
  if (!vector) {
    shape.push_back(b.shape.back());
  }
  return shape;
}

std::optional<TensorDesc> Product(const CallInputs& in, std::size_t first) {
  const TensorDesc* a = in.Tensor(first);
  const TensorDesc* b = in.Tensor(first + 1);
  const auto shape = a == nullptr || b == nullptr ? std::nullopt : ProductShape(*a, *b);
  return shape ? std::optional(Contiguous(*a, a->dtype, *shape)) : std::nullopt;
}

Results Added(const CallInputs& in, std::size_t arity) {
  const TensorDesc* self = in.Tensor(0);
  const auto product = Product(in, 1);
  return self != nullptr && product && in.IsNumber(3) && in.IsNumber(4) &&
                 self->dtype == product->dtype
             ? One(in, arity, product)
             : std::nullopt;
}

}  // namespace

Results MatrixProduct(const CallInputs& in) { return One(in, 2, Product(in, 0)); }

// Rows in groups by a matrix for each, or a matrix for each group of the inner dimension. Rows of
// the result are padded to 16 bytes: only those that need no padding are known.
Results GroupedProduct(const CallInputs& in) {
  const TensorDesc* const a = in.Tensor(0);
  const TensorDesc* const b = in.Tensor(1);
  const TensorDesc* const ends = in.Tensor(2);
  constexpr std::int64_t kPadding = 16;
  if (a == nullptr || b == nullptr || a->shape.size() != 2 || !in.Absent(4) ||
      b->shape.back() * SizeOf(a->dtype) % kPadding != 0) {
    return std::nullopt;
  }
  if (b->shape.size() == 3) {
    return One(in, 5, Contiguous(*a, a->dtype, {a->shape[0], b->shape[2]}));
  }
  if (b->shape.size() != 2 || ends == nullptr || ends->shape.size() != 1) {
    return std::nullopt;
  }
  return One(in, 5, Contiguous(*a, a->dtype, {ends->shape[0], a->shape[0], b->shape[1]}));
}

Results AddedMatrixProduct(const CallInputs& in) { return Added(in, 5); }

Results ActivatedProduct(const CallInputs& in) { return Added(in, 6); }

}  // namespace reprise::pytorch
