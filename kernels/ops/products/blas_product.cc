#include "kernels/ops/products/blas_product.h"

#include "kernels/ops/products/gemm_product.h"

namespace reprise {
namespace {

std::optional<BlasProduct::Operand> AsOperand(const MatrixView& view, std::int64_t rows,
                                              std::int64_t columns) {
  BlasProduct::Operand operand{view.tensor, view.tensor->offset, false, view.row, view.batch};
  if (view.column == 1 && view.row >= columns) {
    return operand;
  }
  if (view.row == 1 && view.column >= rows) {
    operand.transposed = true;
    operand.leading = view.column;
    return operand;
  }
  return std::nullopt;
}

}  // namespace

std::optional<BlasProduct> AsBlasProduct(const OpCall& call) {
  const std::optional<Product> p = ParseProduct(call);
  if (!p || p->beta != 0 || p->alpha != 1 || p->m == 0 || p->n == 0 || p->k == 0) {
    return std::nullopt;
  }
  const auto a = AsOperand(p->a, p->m, p->k);
  const auto b = AsOperand(p->b, p->k, p->n);
  const auto d = AsOperand(p->d, p->m, p->n);
  const DType dtype = p->d.tensor->dtype;
  if (!a || !b || !d || d->transposed || a->tensor->dtype != dtype || b->tensor->dtype != dtype) {
    return std::nullopt;
  }
  return BlasProduct{p->batch, p->m, p->n, p->k, dtype, *a, *b, *d};
}

}  // namespace reprise
