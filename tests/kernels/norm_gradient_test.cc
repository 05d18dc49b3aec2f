// Backward references of normalisations, softmax and losses against finite differences.
#include <gtest/gtest.h>

#include "kernels/samples.h"
#include "tests/kernels/gradient_check.h"

namespace reprise {
namespace {

using samples::Bool, samples::Double, samples::Int, samples::Ints, samples::None,
    samples::SampleTensors;
constexpr DType kDouble = DType::kFloat64;

Value All() { return {ValueList{Bool(true), Bool(true), Bool(true)}}; }

// An input, its weight and bias, their gradients, the output and its gradient.
struct Operands {
  Operands(const std::vector<std::int64_t>& shape, std::int64_t parameters,
           const std::vector<std::int64_t>& statistics)
      : x(t.Tensor(kDouble, shape)),
        weight(t.Tensor(kDouble, {parameters})),
        bias(t.Tensor(kDouble, {parameters})),
        y(t.Tensor(kDouble, shape)),
        up(t.Tensor(kDouble, shape)),
        mean(t.Tensor(kDouble, statistics)),
        rstd(t.Tensor(kDouble, statistics)),
        dx(t.Tensor(kDouble, shape)),
        dw(t.Tensor(kDouble, {parameters})),
        db(t.Tensor(kDouble, {parameters})) {}
  [[nodiscard]] std::vector<std::pair<TensorDesc, TensorDesc>> Gradients() const {
    return {{x, dx}, {weight, dw}, {bias, db}};
  }

  SampleTensors t;
  TensorDesc x, weight, bias, y, up, mean, rstd, dx, dw, db;
};

TEST(Gradient, LayerNorm) {
  const Operands o({3, 4, 10}, 10, {3, 4, 1});
  ExpectGradientsAgree(
      {{"aten::native_layer_norm",
        {{o.x}, Ints({10}), {o.weight}, {o.bias}, Double(1e-5)},
        {{o.y}, {o.mean}, {o.rstd}}},
       {"aten::native_layer_norm_backward",
        {{o.up}, {o.x}, Ints({10}), {o.mean}, {o.rstd}, {o.weight}, {o.bias}, All()},
        {{o.dx}, {o.dw}, {o.db}}},
       o.Gradients(),
       o.up});
}

TEST(Gradient, RmsNorm) {
  const Operands o({5, 10}, 10, {5, 1});
  ExpectGradientsAgree(
      {{"aten::_fused_rms_norm", {{o.x}, Ints({10}), {o.weight}, Double(1e-5)}, {{o.y}, {o.rstd}}},
       {"aten::_fused_rms_norm_backward",
        {{o.up}, {o.x}, Ints({10}), {o.rstd}, {o.weight}, All()},
        {{o.dx}, {o.dw}}},
       {{o.x, o.dx}, {o.weight, o.dw}},
       o.up});
}

TEST(Gradient, BatchNormInTraining) {
  const Operands o({4, 3, 2, 5}, 3, {3});
  ExpectGradientsAgree(
      {{"aten::native_batch_norm",
        {{o.x}, {o.weight}, {o.bias}, None(), None(), Bool(true), Double(0.1), Double(1e-5)},
        {{o.y}, {o.mean}, {o.rstd}}},
       {"aten::native_batch_norm_backward",
        {{o.up},
         {o.x},
         {o.weight},
         None(),
         None(),
         {o.mean},
         {o.rstd},
         Bool(true),
         Double(1e-5),
         All()},
        {{o.dx}, {o.dw}, {o.db}}},
       o.Gradients(),
       o.up});
}

TEST(Gradient, BatchNormInEvaluation) {
  const Operands o({4, 3, 7}, 3, {3});
  // The large epsilon keeps the (random, perhaps negative) running variance positive.
  const Value running_mean{o.mean};
  const Value running_var{o.rstd};
  ExpectGradientsAgree({{"aten::native_batch_norm",
                         {{o.x},
                          {o.weight},
                          {o.bias},
                          running_mean,
                          running_var,
                          Bool(false),
                          Double(0.1),
                          Double(3)},
                         {{o.y}, None(), None()}},
                        {"aten::native_batch_norm_backward",
                         {{o.up},
                          {o.x},
                          {o.weight},
                          running_mean,
                          running_var,
                          None(),
                          None(),
                          Bool(false),
                          Double(3),
                          All()},
                         {{o.dx}, {o.dw}, {o.db}}},
                        o.Gradients(),
                        o.up});
}

TEST(Gradient, GroupNorm) {
  const Operands o({2, 6, 3, 3}, 6, {2, 3});
  ExpectGradientsAgree(
      {{"aten::native_group_norm",
        {{o.x}, {o.weight}, {o.bias}, Int(2), Int(6), Int(9), Int(3), Double(1e-5)},
        {{o.y}, {o.mean}, {o.rstd}}},
       {"aten::native_group_norm_backward",
        {{o.up}, {o.x}, {o.mean}, {o.rstd}, {o.weight}, Int(2), Int(6), Int(9), Int(3), All()},
        {{o.dx}, {o.dw}, {o.db}}},
       o.Gradients(),
       o.up});
}

TEST(Gradient, SoftmaxOverEveryDimension) {
  for (const char* name : {"aten::_softmax", "aten::_log_softmax"}) {
    for (const std::int64_t dim : {0, 1, -1}) {
      SampleTensors t;
      const TensorDesc x = t.Tensor(kDouble, {3, 6, 4});
      const TensorDesc y = t.Tensor(kDouble, x.shape);
      const TensorDesc up = t.Tensor(kDouble, x.shape);
      const TensorDesc dx = t.Tensor(kDouble, x.shape);
      ExpectGradientsAgree(
          {{name, {{x}, Int(dim), Bool(false)}, {{y}}},
           {std::string(name) + "_backward_data", {{up}, {y}, Int(dim), Int(7)}, {{dx}}},
           {{x, dx}},
           up});
    }
  }
}

TEST(Gradient, NllLoss) {
  for (const std::int64_t reduction : {0, 1, 2}) {
    SampleTensors t;
    const TensorDesc x = t.Tensor(kDouble, {6, 5});
    const TensorDesc target = t.Tensor(DType::kInt64, {6});
    const TensorDesc weight = t.Tensor(kDouble, {5});
    const std::vector<std::int64_t> shape(reduction == 0 ? 1 : 0, 6);
    const TensorDesc loss = t.Tensor(kDouble, shape);
    const TensorDesc up = t.Tensor(kDouble, shape);
    const TensorDesc total = t.Tensor(kDouble, {});
    const TensorDesc dx = t.Tensor(kDouble, x.shape);
    ExpectGradientsAgree({{"aten::nll_loss_forward",
                           {{x}, {target}, {weight}, Int(reduction), Int(2)},
                           {{loss}, {total}}},
                          {"aten::nll_loss_backward",
                           {{up}, {x}, {target}, {weight}, Int(reduction), Int(2), {total}},
                           {{dx}}},
                          {{x, dx}},
                          up});
  }
}

TEST(Gradient, MeanSquaredError) {
  SampleTensors t;
  const TensorDesc x = t.Tensor(kDouble, {6, 5});
  const TensorDesc target = t.Tensor(kDouble, {6, 5});
  const TensorDesc loss = t.Tensor(kDouble, {});
  const TensorDesc up = t.Tensor(kDouble, {});
  const TensorDesc dx = t.Tensor(kDouble, x.shape);
  ExpectGradientsAgree({{"aten::mse_loss", {{x}, {target}, Int(1)}, {{loss}}},
                        {"aten::mse_loss_backward", {{up}, {x}, {target}, Int(1)}, {{dx}}},
                        {{x, dx}},
                        up});
}

}  // namespace
}  // namespace reprise
