#include "kernels/ops/products/gemm_product.h"

#include <limits>

#include "core/operator_arguments.h"
#include "kernels/ops/products/gemm_launch.h"
#include "kernels/views.h"

namespace reprise {
namespace {

// A tensor as a batch of matrices, with their sizes: a vector is a column, or a row.
struct SizedView {
  std::int64_t batch = 1, rows = 1, columns = 1;
  MatrixView view;
};

SizedView AsMatrices(const TensorDesc& t, bool vector_is_row = false) {
  const auto& s = t.strides;
  switch (t.shape.size()) {
    case 0:
      return {1, 1, 1, {&t, 0, 0, 0}};
    case 1:
      return vector_is_row ? SizedView{1, 1, t.shape[0], {&t, 0, 0, s[0]}}
                           : SizedView{1, t.shape[0], 1, {&t, 0, s[0], 0}};
    case 2:
      return {1, t.shape[0], t.shape[1], {&t, 0, s[0], s[1]}};
    default:
      return {t.shape[0], t.shape[1], t.shape[2], {&t, s[0], s[1], s[2]}};
  }
}

// Matrices, batches of them, two vectors, or a matrix and a vector.
bool RanksMultiply(std::size_t a, std::size_t b) {
  return (a == b && a >= 1 && a <= 3) || (a == 2 && b == 1);
}

// Offsets within one matrix fit the kernels' 31 bits.
bool Fits(const MatrixView& v, std::int64_t rows, std::int64_t columns) {
  return (rows - 1) * v.row + (columns - 1) * v.column < std::numeric_limits<std::int32_t>::max();
}

}  // namespace

std::optional<Product> ParseProduct(const OpCall& call) {
  const ArgumentPlaces& places = ArgumentPlaces::Of(call.name);
  const TensorDesc* a = places.Tensor(call, "a");
  const TensorDesc* b = places.Tensor(call, "b");
  const TensorDesc* d = call.OutputTensor(0);
  if (a == nullptr || b == nullptr || d == nullptr) {
    return std::nullopt;
  }
  const std::size_t rank = b->shape.size() == 1 ? a->shape.size() - 1 : a->shape.size();
  if (!RanksMultiply(a->shape.size(), b->shape.size()) || d->shape.size() != rank ||
      a->dtype != b->dtype || a->dtype != d->dtype ||
      !GemmTypesSupported(a->dtype, b->dtype, d->dtype)) {
    return std::nullopt;
  }
  const SizedView left = AsMatrices(*a, /*vector_is_row=*/true);
  const SizedView right = AsMatrices(*b);
  const SizedView result = AsMatrices(*d);
  if (left.columns != right.rows || left.batch != right.batch || result.batch != left.batch ||
      result.rows != left.rows || result.columns != right.columns) {
    return std::nullopt;
  }
  Product p{left.batch, left.rows, right.columns, left.columns, left.view, right.view};
  p.d = result.view;
  if (places.Has("addend")) {
    const TensorDesc* c = places.Tensor(call, "addend");
    const auto broadcast = c == nullptr ? std::nullopt : Expanded(*c, d->shape);
    if (!broadcast || c->dtype != d->dtype) {
      return std::nullopt;
    }
    p.c = AsMatrices(*broadcast).view;
    p.c.tensor = c;
    p.beta = places.Number(call, "beta", 1);
    p.alpha = places.Number(call, "alpha", 1);
  }
  if (!Fits(p.a, p.m, p.k) || !Fits(p.b, p.k, p.n) || !Fits(p.d, p.m, p.n)) {
    return std::nullopt;
  }
  return p;
}

}  // namespace reprise
