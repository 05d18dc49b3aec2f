// Backward references of convolution, attention and pooling against finite differences.
#include <gtest/gtest.h>

#include "kernels/samples.h"
#include "tests/kernels/gradient_check.h"

namespace reprise {
namespace {

using samples::Bool, samples::Double, samples::Int, samples::Ints, samples::None,
    samples::SampleTensors;
constexpr DType kFloat = DType::kFloat32;

TEST(Gradient, Convolution) {
  struct Shape {
    std::int64_t groups, out_height, out_width;
    std::vector<std::int64_t> stride, padding, dilation;
  };
  for (const Shape& shape :
       {Shape{1, 5, 6, {1, 1}, {0, 0}, {1, 1}}, Shape{1, 4, 5, {2, 2}, {1, 2}, {1, 1}},
        Shape{2, 3, 3, {2, 3}, {1, 2}, {2, 2}}}) {
    SampleTensors s;
    const TensorDesc in = s.Tensor(kFloat, {2, 4, 7, 8});
    const TensorDesc weight = s.Tensor(kFloat, {6, 4 / shape.groups, 3, 3});
    const TensorDesc bias = s.Tensor(kFloat, {6});
    const TensorDesc out = s.Tensor(kFloat, {2, 6, shape.out_height, shape.out_width});
    const TensorDesc up = s.Tensor(kFloat, out.shape);
    const TensorDesc in_grad = s.Tensor(kFloat, in.shape);
    const TensorDesc weight_grad = s.Tensor(kFloat, weight.shape);
    const TensorDesc bias_grad = s.Tensor(kFloat, bias.shape);
    ExpectGradientsAgree(
        {{"aten::mkldnn_convolution",
          {Value{in}, Value{weight}, Value{bias}, Ints(shape.padding), Ints(shape.stride),
           Ints(shape.dilation), Int(shape.groups)},
          {Value{out}}},
         {"aten::convolution_backward",
          {Value{up}, Value{in}, Value{weight}, Ints({6}), Ints(shape.stride), Ints(shape.padding),
           Ints(shape.dilation), Bool(false), Ints({0, 0}), Int(shape.groups),
           Value{ValueList{Bool(true), Bool(true), Bool(true)}}},
          {Value{in_grad}, Value{weight_grad}, Value{bias_grad}}},
         {{in, in_grad}, {weight, weight_grad}, {bias, bias_grad}},
         up});
  }
}

TEST(Gradient, Attention) {
  for (const bool causal : {false, true}) {
    SampleTensors s;
    const auto t = [&](std::int64_t tokens, std::int64_t width) {
      return s.Tensor(kFloat, {2, 2, tokens, width});
    };
    const TensorDesc q = t(5, 4), k = t(7, 4), v = t(7, 4), out = t(5, 4), up = t(5, 4);
    const TensorDesc lse = s.Tensor(kFloat, {2, 2, 5});
    const TensorDesc q_grad = t(5, 4), k_grad = t(7, 4), v_grad = t(7, 4);
    ExpectGradientsAgree({{"aten::_scaled_dot_product_flash_attention_for_cpu",
                           {Value{q}, Value{k}, Value{v}, Double(0), Bool(causal), None(), None()},
                           {Value{out}, Value{lse}}},
                          {"aten::_scaled_dot_product_flash_attention_for_cpu_backward",
                           {Value{up}, Value{q}, Value{k}, Value{v}, Value{out}, Value{lse},
                            Double(0), Bool(causal), None(), None()},
                           {Value{q_grad}, Value{k_grad}, Value{v_grad}}},
                          {{q, q_grad}, {k, k_grad}, {v, v_grad}},
                          up});
  }
}

TEST(Gradient, Pooling) {
  SampleTensors s;
  const TensorDesc in = s.Tensor(kFloat, {2, 2, 9, 8});
  const TensorDesc in_grad = s.Tensor(kFloat, in.shape);
  const Value kernel = Ints({3, 2}), stride = Ints({2, 2}), padding = Ints({1, 1});
  const Value one = Ints({1, 1}), no = Bool(false);
  for (const bool count_padding : {false, true}) {
    const TensorDesc out = s.Tensor(kFloat, {2, 2, 5, 5}), up = s.Tensor(kFloat, out.shape);
    const Value count = Bool(count_padding);
    ExpectGradientsAgree({{"aten::avg_pool2d",
                           {Value{in}, kernel, stride, padding, no, count, None()},
                           {Value{out}}},
                          {"aten::avg_pool2d_backward",
                           {Value{up}, Value{in}, kernel, stride, padding, no, count, None()},
                           {Value{in_grad}}},
                          {{in, in_grad}},
                          up});
  }
  const TensorDesc out = s.Tensor(kFloat, {2, 2, 4, 3}), up = s.Tensor(kFloat, out.shape);
  ExpectGradientsAgree(
      {{"aten::_adaptive_avg_pool2d", {Value{in}, Ints({4, 3})}, {Value{out}}},
       {"aten::_adaptive_avg_pool2d_backward", {Value{up}, Value{in}}, {Value{in_grad}}},
       {{in, in_grad}},
       up});
  const TensorDesc most = s.Tensor(kFloat, {2, 2, 5, 5}), most_up = s.Tensor(kFloat, most.shape);
  const TensorDesc index = s.Tensor(DType::kInt64, most.shape);
  ExpectGradientsAgree(
      {{"aten::max_pool2d_with_indices",
        {Value{in}, kernel, stride, padding, one, no},
        {Value{most}, Value{index}}},
       {"aten::max_pool2d_with_indices_backward",
        {Value{most_up}, Value{in}, kernel, stride, padding, one, no, Value{index}},
        {Value{in_grad}}},
       {{in, in_grad}},
       most_up});
}

}  // namespace
}  // namespace reprise
