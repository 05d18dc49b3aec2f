// Norms, activations, dropout, softmax and sums.
#include <algorithm>

#include "workload/ops/model_operators.h"

namespace reprise {
namespace {

// aten::name(x) with one result of its shape, and name_backward(gradient, kept).
Var Pointwise(Builder& b, const Var& x, const char* name, const char* entry, const char* backward,
              bool keeps_result, const ValueList& more = {}, const ValueList& backward_more = {}) {
  b.Op();
  const TensorDesc result = b.NewLike(x.tensor);
  ValueList inputs = {Of(x.tensor)};
  inputs.insert(inputs.end(), more.begin(), more.end());
  b.out.Work(name, inputs, {Of(result)});
  const TensorDesc kept = keeps_result ? result : x.tensor;
  return b.tape->Record(
      entry, {x}, {result}, [&b, kept, backward, more, backward_more](std::vector<Grad>& results) {
        const TensorDesc gradient = b.NewLike(kept);
        ValueList arguments = {Of(*results[0].tensor), Of(kept)};
        arguments.insert(arguments.end(), more.begin(), more.end());
        arguments.insert(arguments.end(), backward_more.begin(), backward_more.end());
        b.out.Work(backward, arguments, {Of(gradient)});
        return std::vector<Grad>{{gradient, true}};
      })[0];
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
  b.out.Work("aten::sum", {Of(gradient), OfInts(dims), OfBool(true), {}}, {Of(sum)});
  TensorDesc view = b.out.Part(sum, 0, shape);
  b.out.Host("aten::view", {Of(sum), OfInts(shape)}, {Of(view)});
  b.out.parent = outer;
  return view;
}

}  // namespace

Var LayerNorm(Builder& b, const Var& x, Parameter& weight, Parameter& bias) {
  b.Op("aten::layer_norm");
  const TensorDesc result = b.NewLike(x.tensor);
  std::vector<std::int64_t> rows = x.shape();
  rows.back() = 1;
  const TensorDesc mean = b.out.New(DType::kFloat32, rows);
  const TensorDesc rstd = b.out.New(DType::kFloat32, rows);
  const Value normalized = OfInts({x.shape().back()});
  b.out.Work("aten::native_layer_norm",
             {Of(x.tensor), normalized, Of(weight.value), Of(bias.value), OfDouble(1e-5)},
             {Of(result), Of(mean), Of(rstd)});
  const TensorDesc input = x.tensor;
  return b.tape->Record(
      "NativeLayerNormBackward0", {x, Var{.parameter = &weight}, Var{.parameter = &bias}}, {result},
      [&b, input, mean, rstd, normalized, &weight, &bias](std::vector<Grad>& results) {
        const TensorDesc dx = b.NewLike(input);
        const TensorDesc dw = b.NewLike(weight.value);
        const TensorDesc db = b.NewLike(bias.value);
        b.out.Work(
            "aten::native_layer_norm_backward",
            {Of(*results[0].tensor), Of(input), normalized, Of(mean), Of(rstd), Of(weight.value),
             Of(bias.value), Value{ValueList{OfBool(true), OfBool(true), OfBool(true)}}},
            {Of(dx), Of(dw), Of(db)});
        return std::vector<Grad>{{dx, true}, {dw, true}, {db, true}};
      })[0];
}

Var RmsNorm(Builder& b, const Var& x, Parameter& weight) {
  b.Op("aten::rms_norm");
  const TensorDesc result = b.NewLike(x.tensor);
  std::vector<std::int64_t> rows = x.shape();
  rows.back() = 1;
  const TensorDesc rstd = b.out.New(DType::kFloat32, rows);
  const Value normalized = OfInts({x.shape().back()});
  b.out.Work("aten::_fused_rms_norm", {Of(x.tensor), normalized, Of(weight.value), OfDouble(1e-5)},
             {Of(result), Of(rstd)});
  const TensorDesc input = x.tensor;
  return b.tape->Record("FusedRmsNormBackward0", {x, Var{.parameter = &weight}}, {result},
                        [&b, input, rstd, normalized, &weight](std::vector<Grad>& results) {
                          const TensorDesc dx = b.NewLike(input);
                          const TensorDesc dw = b.NewLike(weight.value);
                          b.out.Work(
                              "aten::_fused_rms_norm_backward",
                              {Of(*results[0].tensor), Of(input), normalized, Of(rstd),
                               Of(weight.value), Value{ValueList{OfBool(true), OfBool(true)}}},
                              {Of(dx), Of(dw)});
                          return std::vector<Grad>{{dx, true}, {dw, true}};
                        })[0];
}

Var Add(Builder& b, const Var& x, const Var& y) {
  b.Op();
  const TensorDesc result = b.NewLike(x.tensor);
  b.out.Work("aten::add", {Of(x.tensor), Of(y.tensor), OfInt(1)}, {Of(result)});
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
  const TensorDesc result = b.NewLike(x.tensor);
  b.out.Work("aten::mul", {Of(x.tensor), Of(y.tensor)}, {Of(result)});
  const Var left{.tensor = x.tensor};
  const Var right{.tensor = y.tensor};
  const bool needs_x = x.NeedsGradient();
  const bool needs_y = y.NeedsGradient();
  return b.tape->Record("MulBackward0", {x, y}, {result},
                        [&b, left, right, needs_x, needs_y](std::vector<Grad>& results) {
                          const TensorDesc gradient = *results[0].tensor;
                          std::vector<Grad> out(2);
                          if (needs_x) {
                            const TensorDesc dx = b.NewLike(gradient);
                            b.out.Work("aten::mul", {Of(gradient), Of(right.tensor)}, {Of(dx)});
                            out[0] = {dx, true};
                          }
                          if (needs_y) {
                            const TensorDesc dy = b.NewLike(gradient);
                            b.out.Work("aten::mul", {Of(gradient), Of(left.tensor)}, {Of(dy)});
                            out[1] = {SummedTo(b, dy, right.shape()), true};
                          }
                          return out;
                        })[0];
}

Var Gelu(Builder& b, const Var& x) {
  return Pointwise(b, x, "aten::gelu", "GeluBackward0", "aten::gelu_backward", false,
                   {OfText("none")});
}
Var Silu(Builder& b, const Var& x) {
  return Pointwise(b, x, "aten::silu", "SiluBackward0", "aten::silu_backward", false);
}
Var Relu(Builder& b, const Var& x) {
  return Pointwise(b, x, "aten::relu", "ReluBackward0", "aten::threshold_backward", true, {},
                   {OfInt(0)});
}
Var Sigmoid(Builder& b, const Var& x) {
  return Pointwise(b, x, "aten::sigmoid", "SigmoidBackward0", "aten::sigmoid_backward", true);
}

Var Dropout(Builder& b, const Var& x, double p) {
  if (p <= 0) {
    return x;
  }
  b.Op("aten::dropout");
  const TensorDesc result = b.NewLike(x.tensor);
  const TensorDesc mask = b.out.New(DType::kBool, x.shape());
  b.out.Work("aten::native_dropout", {Of(x.tensor), OfDouble(p), OfBool(true)},
             {Of(result), Of(mask)});
  return b.tape->Record(
      "NativeDropoutBackward0", {x}, {result}, [&b, mask, p](std::vector<Grad>& results) {
        const TensorDesc dx = b.NewLike(*results[0].tensor);
        b.out.Work("aten::native_dropout_backward",
                   {Of(*results[0].tensor), Of(mask), OfDouble(1 / (1 - p))}, {Of(dx)});
        return std::vector<Grad>{{dx, true}};
      })[0];
}

Var Softmax(Builder& b, const Var& x) {
  b.Op("aten::softmax");
  const TensorDesc result = b.NewLike(x.tensor);
  b.out.Work("aten::_softmax", {Of(x.tensor), OfInt(-1), OfBool(false)}, {Of(result)});
  return b.tape->Record("SoftmaxBackward0", {x}, {result},
                        [&b, result](std::vector<Grad>& results) {
                          const TensorDesc dx = b.NewLike(result);
                          b.out.Work("aten::_softmax_backward_data",
                                     {Of(*results[0].tensor), Of(result), OfInt(-1),
                                      OfInt(result.dtype == DType::kFloat32 ? 6 : 15)},
                                     {Of(dx)});
                          return std::vector<Grad>{{dx, true}};
                        })[0];
}

Var MaskedFill(Builder& b, const Var& x, const TensorDesc& mask) {
  b.Op();
  const TensorDesc result = b.NewLike(x.tensor);
  b.out.Work("aten::masked_fill", {Of(x.tensor), Of(mask), OfDouble(-10000)}, {Of(result)});
  return b.tape->Record(
      "MaskedFillBackward0", {x}, {result}, [&b, mask](std::vector<Grad>& results) {
        const TensorDesc dx = b.NewLike(*results[0].tensor);
        b.out.Work("aten::masked_fill", {Of(*results[0].tensor), Of(mask), OfInt(0)}, {Of(dx)});
        return std::vector<Grad>{{dx, true}};
      })[0];
}

Var ToType(Builder& b, const Var& x, DType dtype) {
  if (x.tensor.dtype == dtype) {
    return x;
  }
  b.Op("aten::to");
  const TensorDesc result = b.out.New(dtype, x.shape());
  b.out.Work("aten::copy_", {Of(result), Of(x.tensor), OfBool(false)}, {Of(result)});
  const DType back = x.tensor.dtype;
  return b.tape->Record("ToCopyBackward0", {x}, {result}, [&b, back](std::vector<Grad>& results) {
    const TensorDesc dx = b.out.New(back, results[0].tensor->shape);
    b.out.Work("aten::copy_", {Of(dx), Of(*results[0].tensor), OfBool(false)}, {Of(dx)});
    return std::vector<Grad>{{dx, true}};
  })[0];
}

Var Mean(Builder& b, const Var& x, std::int64_t dim) {
  b.Op();
  std::vector<std::int64_t> shape = x.shape();
  const std::int64_t count = shape[static_cast<std::size_t>(dim)];
  shape.erase(shape.begin() + dim);
  const TensorDesc result = b.out.New(x.tensor.dtype, shape);
  b.out.Work("aten::mean", {Of(x.tensor), OfInts({dim}), OfBool(false), {}}, {Of(result)});
  const TensorDesc input = x.tensor;
  return b.tape->Record(
      "MeanBackward1", {x}, {result}, [&b, input, dim, count](std::vector<Grad>& results) {
        const TensorDesc gradient = *results[0].tensor;
        std::vector<std::int64_t> strides = gradient.strides;
        strides.insert(strides.begin() + dim, 0);
        const TensorDesc spread = b.out.Alias(gradient, input.shape, strides, gradient.offset);
        b.out.Host("aten::expand", {Of(gradient), OfInts(input.shape), OfBool(false)},
                   {Of(spread)});
        const TensorDesc dx = b.NewLike(input);
        b.out.Work("aten::div", {Of(spread), OfInt(count)}, {Of(dx)});
        return std::vector<Grad>{{dx, true}};
      })[0];
}

}  // namespace reprise
