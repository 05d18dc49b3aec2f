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

// A dimension in `groups` equal parts, the batch: where they end is data, which are not read.
SizedView InGroups(const TensorDesc& t, std::int64_t groups, bool by_rows) {
  SizedView matrix = AsMatrices(t);
  std::int64_t& size = by_rows ? matrix.rows : matrix.columns;
  size /= groups;
  matrix.batch = groups;
  matrix.view.batch = size * (by_rows ? matrix.view.row : matrix.view.column);
  return matrix;
}

// a (rows, k) by b (groups, k, n): (rows, n); a (m, rows) by b (rows, n): (groups, m, n).
struct GroupedViews {
  SizedView left, right, result;
};
std::optional<GroupedViews> ViewsInGroups(const TensorDesc& a, const TensorDesc& b,
                                          const TensorDesc& ends, const TensorDesc& d) {
  const std::int64_t groups = ElementCount(ends.shape);
  const bool by_rows = b.shape.size() == 3;
  if (a.shape.size() != 2 || (!by_rows && b.shape.size() != 2) ||
      d.shape.size() != (by_rows ? 2U : 3U) || groups == 0 ||
      a.shape[by_rows ? 0 : 1] % groups != 0) {
    return std::nullopt;
  }
  return by_rows
             ? GroupedViews{InGroups(a, groups, true), AsMatrices(b), InGroups(d, groups, true)}
             : GroupedViews{InGroups(a, groups, false), InGroups(b, groups, true), AsMatrices(d)};
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
  const TensorDesc* const ends = places.Tensor(call, "ends");
  const auto grouped = ends == nullptr ? std::nullopt : ViewsInGroups(*a, *b, *ends, *d);
  const std::size_t rank = b->shape.size() == 1 ? a->shape.size() - 1 : a->shape.size();
  const bool multiply =
      ends != nullptr ? grouped.has_value()
                      : RanksMultiply(a->shape.size(), b->shape.size()) && d->shape.size() == rank;
  if (!multiply || a->dtype != b->dtype || a->dtype != d->dtype ||
      !GemmTypesSupported(a->dtype, b->dtype, d->dtype)) {
    return std::nullopt;
  }
  const SizedView left = grouped ? grouped->left : AsMatrices(*a, /*vector_is_row=*/true);
  const SizedView right = grouped ? grouped->right : AsMatrices(*b);
  const SizedView result = grouped ? grouped->result : AsMatrices(*d);
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
