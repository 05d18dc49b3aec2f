#include "kernels/ops/products/gemm_product.h"

#include <limits>
#include <vector>

#include "core/operator_arguments.h"
#include "kernels/device_lowering.h"
#include "kernels/ops/products/gemm_launch.h"

namespace reprise {
namespace {

enum class Form { kMatrix, kBatch, kVector, kDot };

// By the operands' dimensions; a form that these do not have fails where sizes are set.
Form FormOf(const TensorDesc& a, const TensorDesc& b) {
  if (b.shape.size() == 1) {
    return a.shape.size() == 1 ? Form::kDot : Form::kVector;
  }
  return a.shape.size() == 3 ? Form::kBatch : Form::kMatrix;
}

// Strides of an operand of the form: which of its dimensions are batch, row and column.
MatrixView ViewOf(const TensorDesc& t, Form form, bool left) {
  const auto& s = t.strides;
  switch (form) {
    case Form::kMatrix:
      return {&t, 0, s[0], s[1]};
    case Form::kBatch:
      return {&t, s[0], s[1], s[2]};
    case Form::kVector:  // a matrix and a column
      return s.size() == 2 ? MatrixView{&t, 0, s[0], s[1]} : MatrixView{&t, 0, s[0], 0};
    case Form::kDot:  // a row and a column
      return left ? MatrixView{&t, 0, 0, s[0]} : MatrixView{&t, 0, s[0], 0};
  }
  return {};
}

using Shape = std::vector<std::int64_t>;

// Sizes by the form; false if the shapes do not multiply.
bool SetSizes(Form form, const Shape& a, const Shape& b, Product& p) {
  switch (form) {
    case Form::kMatrix:
      if (a.size() != 2 || b.size() != 2) return false;
      p.m = a[0], p.k = a[1], p.n = b[1];
      return b[0] == p.k;
    case Form::kBatch:
      if (a.size() != 3 || b.size() != 3) return false;
      p.batch = a[0], p.m = a[1], p.k = a[2], p.n = b[2];
      return b[0] == p.batch && b[1] == p.k;
    case Form::kVector:
      if (a.size() != 2 || b.size() != 1) return false;
      p.m = a[0], p.k = a[1], p.n = 1;
      return b[0] == p.k;
    case Form::kDot:
      if (a.size() != 1 || b.size() != 1) return false;
      p.m = 1, p.k = a[0], p.n = 1;
      return b[0] == p.k;
  }
  return false;
}

Shape ResultShape(Form form, const Product& p) {
  switch (form) {
    case Form::kMatrix:
      return {p.m, p.n};
    case Form::kBatch:
      return {p.batch, p.m, p.n};
    case Form::kVector:
      return {p.m};
    case Form::kDot:
      return {};
  }
  return {};
}

// The addend broadcast to the result.
std::optional<MatrixView> AddendOf(const TensorDesc& c, Form form, const Shape& shape) {
  if (c.shape.size() > shape.size()) {
    return std::nullopt;
  }
  for (std::size_t i = 1; i <= c.shape.size(); ++i) {
    const std::int64_t extent = c.shape[c.shape.size() - i];
    if (extent != 1 && extent != shape[shape.size() - i]) {
      return std::nullopt;
    }
  }
  TensorDesc broadcast;
  broadcast.strides = BroadcastStrides(c, shape);
  MatrixView view = ViewOf(broadcast, form, true);
  view.tensor = &c;
  return view;
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
  const Form form = FormOf(*a, *b);
  Product p;
  if (!SetSizes(form, a->shape, b->shape, p) || d->shape != ResultShape(form, p) ||
      a->dtype != b->dtype || a->dtype != d->dtype ||
      !GemmTypesSupported(a->dtype, b->dtype, d->dtype)) {
    return std::nullopt;
  }
  p.a = ViewOf(*a, form, true);
  p.b = ViewOf(*b, form, false);
  TensorDesc scalar;
  scalar.strides = {0};
  p.d = ViewOf(form == Form::kDot ? scalar : *d, form, true);
  p.d.tensor = d;
  if (places.Has("addend")) {
    const TensorDesc* c = places.Tensor(call, "addend");
    const auto view = c == nullptr ? std::nullopt : AddendOf(*c, form, d->shape);
    if (!view || c->dtype != d->dtype) {
      return std::nullopt;
    }
    p.c = *view;
    p.beta = places.Number(call, "beta", 1);
    p.alpha = places.Number(call, "alpha", 1);
  }
  if (!Fits(p.a, p.m, p.k) || !Fits(p.b, p.k, p.n) || !Fits(p.d, p.m, p.n)) {
    return std::nullopt;
  }
  return p;
}

}  // namespace reprise
