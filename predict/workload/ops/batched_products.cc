// Several matrix products at once: in batches, and by groups of rows.
#include "predict/workload/ops/model_operators.h"
#include "predict/workload/ops/scaling.h"

namespace reprise {

std::vector<Grad> WithGroupedGradient(Builder& b, const TensorDesc& input, Parameter& parameter,
                                      const std::function<TensorDesc()>& of_weight) {
  if (b.delayed == nullptr) {
    return {{input, true}, {of_weight(), true}};
  }
  b.Delay([&b, &parameter, of_weight] {
    const TensorDesc sum = of_weight();
    b.out.parent = "torch::autograd::AccumulateGrad";
    b.on_parameter(parameter, {sum, true});
  });
  return {{input, true}, {}};
}

Var GroupedLinear(Builder& b, const Var& x, Parameter& weight, const TensorDesc& ends) {
  if (IsScaled(b, weight)) {
    return ScaledGroupedLinear(b, x, weight, ends);
  }
  const auto product = [&b, ends](const TensorDesc& left, const TensorDesc& right,
                                  const std::vector<std::int64_t>& shape) {
    return b.out.Work("aten::_grouped_mm", Args(left, right, ends, kNoValue, kNoValue),
                      b.out.New(left.dtype, shape));
  };
  b.Op();
  const TensorDesc rows = x.tensor;
  const TensorDesc result =
      product(rows, b.Transposed(weight.value), {rows.shape[0], weight.shape[1]});
  Parameter* const parameter = &weight;
  return b.Record("GroupedMmBackward0", {x, Var{.parameter = &weight}}, result,
                  [&b, product, rows, parameter](const TensorDesc& gradient) {
                    const TensorDesc dx = product(gradient, parameter->value, rows.shape);
                    if (parameter->frozen) {
                      return std::vector<Grad>{{dx, true}, {}};
                    }
                    return WithGroupedGradient(b, dx, *parameter, [=, &b] {
                      return product(b.Transposed(gradient), rows, parameter->shape);
                    });
                  });
}

Var BatchedProduct(Builder& b, const Var& x, const Var& y, double scale, const TensorDesc* added) {
  const bool scaled = scale != 0;
  const std::int64_t batch = x.shape()[0];
  b.Op(scaled ? "" : "aten::matmul");
  const TensorDesc result = b.out.New(x.tensor.dtype, {batch, x.shape()[1], y.shape()[2]});
  if (scaled) {  // Megatron's: baddbmm into an empty buffer, beta 0, alpha 1 / sqrt(d)
    const TensorDesc addend = added != nullptr ? *added : b.out.New(x.tensor.dtype, result.shape);
    b.out.Work("aten::baddbmm",
               Args(addend, x.tensor, y.tensor, added != nullptr ? 1.0 : 0.0, scale), Args(result));
  } else {
    b.out.Work("aten::bmm", Args(x.tensor, y.tensor), Args(result));
  }
  const TensorDesc left = x.tensor;
  const TensorDesc right = y.tensor;
  const bool needs_x = x.NeedsGradient();
  const bool needs_y = y.NeedsGradient();
  return b.Record(scaled ? "BaddbmmBackward0" : "BmmBackward0", {x, y}, result,
                  [&b, left, right, scale, needs_x, needs_y](const TensorDesc& gradient) {
                    const auto turned = [&b](const TensorDesc& t) {
                      return b.out.Host(
                          "aten::transpose", Args(t, 1, 2),
                          b.out.Alias(t, {t.shape[0], t.shape[2], t.shape[1]},
                                      {t.strides[0], t.strides[2], t.strides[1]}, t.offset));
                    };
                    const auto product = [&b](const TensorDesc& l, const TensorDesc& r) {
                      return b.out.Work("aten::bmm", Args(l, r),
                                        b.out.New(l.dtype, {l.shape[0], l.shape[1], r.shape[2]}));
                    };
                    const auto scaled_by = [&b, scale](const TensorDesc& t) {
                      if (scale == 0) {
                        return t;
                      }
                      return b.out.Work("aten::mul", Args(t, scale), b.NewLike(t));
                    };
                    std::vector<Grad> out(2);
                    if (needs_y) {
                      out[1] = {scaled_by(product(turned(left), gradient)), true};
                    }
                    if (needs_x) {
                      out[0] = {scaled_by(product(gradient, turned(right))), true};
                    }
                    return out;
                  });
}

}  // namespace reprise
