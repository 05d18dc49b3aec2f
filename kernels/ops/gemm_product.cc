#include "kernels/ops/gemm_product.h"

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "kernels/lowering.h"
#include "kernels/ops/gemm_launch.h"

namespace reprise {
namespace {

enum class Form { kMatrix, kBatch, kVector, kDot };
struct Operator {
  std::string_view name;
  Form form;
  bool addend;  // (self, a, b, beta, alpha) instead of (a, b)
};
constexpr std::array kGemmOperators = {
    Operator{"aten::mm", Form::kMatrix, false},    Operator{"aten::addmm", Form::kMatrix, true},
    Operator{"aten::addmm_", Form::kMatrix, true}, Operator{"aten::bmm", Form::kBatch, false},
    Operator{"aten::baddbmm", Form::kBatch, true}, Operator{"aten::baddbmm_", Form::kBatch, true},
    Operator{"aten::mv", Form::kVector, false},    Operator{"aten::addmv", Form::kVector, true},
    Operator{"aten::addmv_", Form::kVector, true}, Operator{"aten::dot", Form::kDot, false},
    Operator{"aten::vdot", Form::kDot, false},
};
constexpr auto kGemmNames = [] {
  std::array<std::string_view, kGemmOperators.size()> names;
  for (std::size_t i = 0; i < names.size(); ++i) {
    names[i] = kGemmOperators[i].name;
  }
  return names;
}();

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

std::span<const std::string_view> ProductOperators() { return kGemmNames; }

std::optional<Product> ParseProduct(const OpCall& call) {
  const auto op = std::find_if(kGemmOperators.begin(), kGemmOperators.end(),
                               [&](const Operator& o) { return o.name == call.name; });
  if (op == kGemmOperators.end()) {
    return std::nullopt;
  }
  const std::size_t first = op->addend ? 1 : 0;
  const TensorDesc* a = call.InputTensor(first);
  const TensorDesc* b = call.InputTensor(first + 1);
  const TensorDesc* d = call.OutputTensor(0);
  Product p;
  if (a == nullptr || b == nullptr || d == nullptr || !SetSizes(op->form, a->shape, b->shape, p) ||
      d->shape != ResultShape(op->form, p) || a->dtype != b->dtype || a->dtype != d->dtype ||
      !GemmTypesSupported(a->dtype, b->dtype, d->dtype)) {
    return std::nullopt;
  }
  p.a = ViewOf(*a, op->form, true);
  p.b = ViewOf(*b, op->form, false);
  TensorDesc scalar;
  scalar.strides = {0};
  p.d = ViewOf(op->form == Form::kDot ? scalar : *d, op->form, true);
  p.d.tensor = d;
  if (op->addend) {
    const TensorDesc* c = call.InputTensor(0);
    const auto view = c == nullptr ? std::nullopt : AddendOf(*c, op->form, d->shape);
    if (!view || c->dtype != d->dtype) {
      return std::nullopt;
    }
    p.c = *view;
    p.beta = call.inputs.size() > 3 ? call.inputs[3].AsNumber<double>(1) : 1;
    p.alpha = call.inputs.size() > 4 ? call.inputs[4].AsNumber<double>(1) : 1;
  }
  if (!Fits(p.a, p.m, p.k) || !Fits(p.b, p.k, p.n) || !Fits(p.d, p.m, p.n)) {
    return std::nullopt;
  }
  return p;
}

}  // namespace reprise
