// Norms, activations, dropout, softmax and sums.
#include <algorithm>
#include <utility>
#include <vector>

#include "predict/workload/ops/model_operators.h"

namespace reprise {
namespace {

// The operator name(x, more), whose result has the shape of x, and its backward(gradient, kept,
// backward_more).
struct PointwiseNames {
  const char* parent;  // empty: none
  const char* name;
  const char* entry;
  const char* backward;
};
Var Pointwise(Builder& b, const Var& x, const PointwiseNames& names, bool keeps_result,
              const ValueList& more = {}, const ValueList& backward_more = {}) {
  const auto with = [](ValueList values, const ValueList& others) {
    values.insert(values.end(), others.begin(), others.end());
    return values;
  };
  b.Op(names.parent);
  const TensorDesc result = b.out.Work(names.name, with(Args(x.tensor), more), b.NewLike(x.tensor));
  const TensorDesc kept = keeps_result ? result : x.tensor;
  return b.Record(
      names.entry, {x}, result, [&b, with, kept, names, backward_more](const TensorDesc& gradient) {
        return Fresh(
            b.out.Work(names.backward, with(Args(gradient, kept), backward_more), b.NewLike(kept)));
      });
}

// The gradient of an operand that was broadcast: summed over the dimensions that it lacks.
TensorDesc SummedTo(Builder& b, const TensorDesc& gradient,
                    const std::vector<std::int64_t>& shape) {
  if (gradient.shape == shape) {
    return gradient;
  }
  const std::string outer = b.out.parent;
  b.out.parent = "autograd::engine::evaluate_function: " + outer;
  const std::size_t missing = gradient.shape.size() - shape.size();
  std::vector<std::int64_t> dims;
  std::vector<std::int64_t> kept = gradient.shape;
  for (std::size_t i = 0; i < gradient.shape.size(); ++i) {
    if (i < missing || shape[i - missing] == 1) {
      dims.push_back(static_cast<std::int64_t>(i));
      kept[i] = 1;
    }
  }
  const TensorDesc sum = b.out.New(gradient.dtype, kept);
  b.out.Work("aten::sum", Args(gradient, dims, true, kNoValue), Args(sum));
  TensorDesc view = b.Shaped(sum, shape);
  b.out.parent = outer;
  return view;
}

// `weight` and `bias`: null: neither.
Var NormOfRows(Builder& b, const Var& x, Parameter* weight, Parameter* bias, double epsilon) {
  const auto value = [](const Parameter* of) {
    return of == nullptr ? ToValue(kNoValue) : ToValue(of->value);
  };
  b.Op("aten::layer_norm");
  const TensorDesc result = b.NewLike(x.tensor);
  std::vector<std::int64_t> rows = x.shape();
  rows.back() = 1;
  const TensorDesc mean = b.out.New(DType::kFloat32, rows);
  const TensorDesc rstd = b.out.New(DType::kFloat32, rows);
  const Ints normalized = {x.shape().back()};
  b.out.Work("aten::native_layer_norm",
             Args(x.tensor, normalized, value(weight), value(bias), epsilon),
             Args(result, mean, rstd));
  const TensorDesc input = x.tensor;
  std::vector<Var> inputs = {x};
  if (weight != nullptr) {
    inputs.push_back(Var{.parameter = weight});
    inputs.push_back(Var{.parameter = bias});
  }
  return b.Record(
      "NativeLayerNormBackward0", inputs, result,
      [&b, input, mean, rstd, normalized, weight, bias, value](const TensorDesc& gradient) {
        const TensorDesc dx = b.NewLike(input);
        std::vector<Grad> gradients = {{dx, true}};
        ValueList results = Args(dx, kNoValue, kNoValue);
        const bool trained = weight != nullptr && !(weight->frozen && bias->frozen);
        if (trained) {
          const TensorDesc dw = b.NewLike(weight->value);
          const TensorDesc db = b.NewLike(bias->value);
          gradients.insert(gradients.end(), {{dw, true}, {db, true}});
          results = Args(dx, dw, db);
        }
        b.out.Work("aten::native_layer_norm_backward",
                   Args(gradient, input, normalized, mean, rstd, value(weight), value(bias),
                        Args(true, trained, trained)),
                   std::move(results));
        gradients.resize(weight == nullptr ? 1 : 3);
        return gradients;
      });
}

}  // namespace

Var LayerNorm(Builder& b, const Var& x, Parameter& weight, Parameter& bias) {
  return NormOfRows(b, x, &weight, &bias, 1e-5);
}

Var PlainLayerNorm(Builder& b, const Var& x) { return NormOfRows(b, x, nullptr, nullptr, 1e-6); }

Var RmsNorm(Builder& b, const Var& x, Parameter& weight) {
  b.Op("aten::rms_norm");
  const TensorDesc result = b.NewLike(x.tensor);
  std::vector<std::int64_t> rows = x.shape();
  rows.back() = 1;
  const TensorDesc rstd = b.out.New(DType::kFloat32, rows);
  const Ints normalized = {x.shape().back()};
  b.out.Work("aten::_fused_rms_norm", Args(x.tensor, normalized, weight.value, 1e-5),
             Args(result, rstd));
  const TensorDesc input = x.tensor;
  return b.Record(
      "FusedRmsNormBackward0", {x, Var{.parameter = &weight}}, result,
      [&b, input, rstd, normalized, &weight](const TensorDesc& gradient) {
        const TensorDesc dx = b.NewLike(input);
        if (weight.frozen) {
          b.out.Work("aten::_fused_rms_norm_backward",
                     Args(gradient, input, normalized, rstd, weight.value, Args(true, false)),
                     Args(dx, kNoValue));
          return std::vector<Grad>{{dx, true}, {}};
        }
        const TensorDesc dw = b.NewLike(weight.value);
        b.out.Work("aten::_fused_rms_norm_backward",
                   Args(gradient, input, normalized, rstd, weight.value, Args(true, true)),
                   Args(dx, dw));
        return std::vector<Grad>{{dx, true}, {dw, true}};
      });
}

Var Add(Builder& b, const Var& x, const Var& y) {
  b.Op();
  const TensorDesc result =
      b.out.Work("aten::add", Args(x.tensor, y.tensor, 1), b.NewLike(x.tensor));
  const std::vector<std::int64_t> shape = y.shape();
  const bool needs_y = y.NeedsGradient();
  return b.tape->Record("AddBackward0", {x, y}, {result},
                        [&b, shape, needs_y](std::vector<Grad>& results) {
                          std::vector<Grad> out = {results[0], {}};
                          if (needs_y) {
                            out[1] = results[0];
                            out[1].tensor = SummedTo(b, *results[0].tensor, shape);
                          }
                          return out;
                        })[0];
}

Var Multiply(Builder& b, const Var& x, const Var& y) {
  b.Op();
  const TensorDesc result = b.out.Work("aten::mul", Args(x.tensor, y.tensor), b.NewLike(x.tensor));
  const Var left{.tensor = x.tensor};
  const Var right{.tensor = y.tensor};
  const bool needs_x = x.NeedsGradient();
  const bool needs_y = y.NeedsGradient();
  return b.Record("MulBackward0", {x, y}, result,
                  [&b, left, right, needs_x, needs_y](const TensorDesc& gradient) {
                    std::vector<Grad> out(2);
                    if (needs_x) {
                      const TensorDesc dx = b.out.Work("aten::mul", Args(gradient, right.tensor),
                                                       b.NewLike(gradient));
                      out[0] = {dx, true};
                    }
                    if (needs_y) {
                      const TensorDesc dy =
                          b.out.Work("aten::mul", Args(gradient, left.tensor), b.NewLike(gradient));
                      out[1] = {SummedTo(b, dy, right.shape()), true};
                    }
                    return out;
                  });
}

Var Gelu(Builder& b, const Var& x) {
  return Pointwise(b, x, {"", "aten::gelu", "GeluBackward0", "aten::gelu_backward"}, false,
                   Args("none"), Args("none"));
}

Var Silu(Builder& b, const Var& x) {
  return Pointwise(b, x, {"", "aten::silu", "SiluBackward0", "aten::silu_backward"}, false);
}

Var Activation(Builder& b, const Var& up) {
  const ModelShape& m = b.model();
  if (!m.gated_ffn) {
    return m.activation == "relu2"  ? Square(b, Relu(b, up))
           : m.activation == "silu" ? Silu(b, up)
                                    : Gelu(b, up);
  }
  const std::int64_t half = up.shape().back() / 2;
  const std::vector<Var> halves = Split(b, up, {half, half});
  return GatedActivation(b, halves[0], halves[1]);
}

Var GatedActivation(Builder& b, const Var& first, const Var& second) {
  const std::string& activation = b.model().activation;
  if (activation != "clamped_silu") {
    return Multiply(b, activation == "gelu" ? Gelu(b, first) : Silu(b, first), second);
  }
  // GPT-OSS (arXiv 2508.10925): both halves clamped at 7; x sigmoid(1.702 x), times the other
  // plus 1.
  constexpr double kMost = 7;
  constexpr double kSlope = 1.702;
  constexpr double kLow = -1e4;  // no lower bound
  const Var gate = Clamp(b, first, kLow, kMost);
  const Var other = Clamp(b, second, -kMost, kMost);
  const Var swish = Multiply(b, gate, Sigmoid(b, MultiplyNumber(b, gate, kSlope)));
  return Multiply(b, AddNumber(b, other, 1), swish);
}

Var Relu(Builder& b, const Var& x) {
  return Pointwise(b, x, {"", "aten::relu", "ReluBackward0", "aten::threshold_backward"}, true, {},
                   Args(0));
}

Var Square(Builder& b, const Var& x) {
  b.Op();
  const TensorDesc result = b.out.Work("aten::pow", Args(x.tensor, 2), b.NewLike(x.tensor));
  const TensorDesc input = x.tensor;
  return b.Record("PowBackward0", {x}, result, [&b, input](const TensorDesc& gradient) {
    const TensorDesc power = b.out.Work("aten::pow", Args(input, 1.0), b.NewLike(input));
    const TensorDesc twice = b.out.Work("aten::mul", Args(power, 2.0), b.NewLike(input));
    return Fresh(b.out.Work("aten::mul", Args(gradient, twice), b.NewLike(gradient)));
  });
}

Var Clamp(Builder& b, const Var& x, double least, double most) {
  b.Op();
  const TensorDesc result =
      b.out.Work("aten::clamp", Args(x.tensor, least, most), b.NewLike(x.tensor));
  const TensorDesc input = x.tensor;
  return b.Record(
      "ClampBackward1", {x}, result, [&b, input, least, most](const TensorDesc& gradient) {
        const auto flags = [&] { return b.out.New(DType::kBool, input.shape); };
        const TensorDesc above = b.out.Work("aten::ge", Args(input, least), flags());
        const TensorDesc below = b.out.Work("aten::le", Args(input, most), flags());
        b.out.InPlace("aten::logical_and_", above, below);
        const TensorDesc zero = b.Constant("zero", gradient.dtype, {});
        return Fresh(b.out.Work("aten::where", Args(above, gradient, zero), b.NewLike(gradient)));
      });
}

Var AddNumber(Builder& b, const Var& x, double number) {
  b.Op();
  const TensorDesc result = b.out.Work("aten::add", Args(x.tensor, number, 1), b.NewLike(x.tensor));
  return b.tape->Record("AddBackward0", {x}, {result}, [](std::vector<Grad>& results) {
    return std::vector<Grad>{results[0]};
  })[0];
}

Var MultiplyNumber(Builder& b, const Var& x, double number) {
  b.Op();
  const TensorDesc result = b.out.Work("aten::mul", Args(x.tensor, number), b.NewLike(x.tensor));
  return b.Record("MulBackward0", {x}, result, [&b, number](const TensorDesc& gradient) {
    return Fresh(b.out.Work("aten::mul", Args(gradient, number), b.NewLike(gradient)));
  });
}

Var Sigmoid(Builder& b, const Var& x) {
  return Pointwise(b, x, {"", "aten::sigmoid", "SigmoidBackward0", "aten::sigmoid_backward"}, true);
}

Var Divide(Builder& b, const Var& x, const Var& y) {
  b.Op();
  const TensorDesc result = b.out.Work("aten::div", Args(x.tensor, y.tensor), b.NewLike(x.tensor));
  const TensorDesc above = x.tensor;
  const TensorDesc below = y.tensor;
  return b.Record("DivBackward0", {x, y}, result, [&b, above, below](const TensorDesc& gradient) {
    const TensorDesc dx = b.out.Work("aten::div", Args(gradient, below), b.NewLike(gradient));
    const TensorDesc quotient = b.out.Work("aten::div", Args(above, below), b.NewLike(above));
    const TensorDesc share = b.out.Work("aten::div", Args(quotient, below), b.NewLike(quotient));
    const TensorDesc minus = b.out.Work("aten::neg", Args(gradient), b.NewLike(gradient));
    const TensorDesc each = b.out.Work("aten::mul", Args(minus, share), b.NewLike(minus));
    const TensorDesc sum = b.out.New(gradient.dtype, below.shape);
    b.out.Work("aten::sum", Args(each, Ints{-1}, true, kNoValue), Args(sum));
    return std::vector<Grad>{{dx, true}, {sum, true}};
  });
}

Var SumOver(Builder& b, const Var& x, std::int64_t dim) {
  b.Op();
  std::vector<std::int64_t> shape = x.shape();
  shape.erase(shape.begin() + dim);
  const TensorDesc result = b.out.Work("aten::sum", Args(x.tensor, Ints{dim}, false, kNoValue),
                                       b.out.New(x.tensor.dtype, shape));
  const std::vector<std::int64_t> before = x.shape();
  return b.Record("SumBackward1", {x}, result, [&b, before, dim](const TensorDesc& gradient) {
    std::vector<std::int64_t> strides = gradient.strides;
    strides.insert(strides.begin() + dim, 0);
    const TensorDesc spread = b.out.Host("aten::expand", Args(gradient, before, false),
                                         b.out.Alias(gradient, before, strides, gradient.offset));
    return std::vector<Grad>{{spread, false}};
  });
}

Var Dropout(Builder& b, const Var& x, double p) {
  if (p <= 0) {
    return x;
  }
  b.Op("aten::dropout");
  const TensorDesc result = b.NewLike(x.tensor);
  const TensorDesc mask = b.out.New(DType::kBool, x.shape());
  b.out.Work("aten::native_dropout", Args(x.tensor, p, true), Args(result, mask));
  return b.Record("NativeDropoutBackward0", {x}, result, [&b, mask, p](const TensorDesc& gradient) {
    return Fresh(b.out.Work("aten::native_dropout_backward", Args(gradient, mask, 1 / (1 - p)),
                            b.NewLike(gradient)));
  });
}

Var Softmax(Builder& b, const Var& x) {
  return Pointwise(
      b, x, {"aten::softmax", "aten::_softmax", "SoftmaxBackward0", "aten::_softmax_backward_data"},
      true, Args(-1, false), Args(-1, x.tensor.dtype == DType::kFloat32 ? 6 : 15));
}

Var LogSoftmax(Builder& b, const Var& x) {
  return Pointwise(b, x,
                   {"aten::log_softmax", "aten::_log_softmax", "LogSoftmaxBackward0",
                    "aten::_log_softmax_backward_data"},
                   true, Args(1, false), Args(1, 6));
}

Var MaskedFill(Builder& b, const Var& x, const TensorDesc& mask) {
  b.Op();
  const TensorDesc result =
      b.out.Work("aten::masked_fill", Args(x.tensor, mask, -10000.0), b.NewLike(x.tensor));
  return b.Record("MaskedFillBackward0", {x}, result, [&b, mask](const TensorDesc& gradient) {
    return Fresh(b.out.Work("aten::masked_fill", Args(gradient, mask, 0), b.NewLike(gradient)));
  });
}

Var ToType(Builder& b, const Var& x, DType dtype) {
  if (x.tensor.dtype == dtype) {
    return x;
  }
  b.Op("aten::to");
  const TensorDesc result = b.out.New(dtype, x.shape());
  b.out.InPlace("aten::copy_", result, x.tensor, false);
  const DType back = x.tensor.dtype;
  return b.Record("ToCopyBackward0", {x}, result, [&b, back](const TensorDesc& gradient) {
    const TensorDesc dx = b.out.New(back, gradient.shape);
    b.out.InPlace("aten::copy_", dx, gradient, false);
    return Fresh(dx);
  });
}

}  // namespace reprise
