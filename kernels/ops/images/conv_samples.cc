// Calls for conformance tests: convolutions of every form, small and odd.
#include "kernels/ops/images/conv_call.h"
#include "kernels/samples.h"

namespace reprise {
namespace {

using samples::Bool, samples::Int, samples::Ints, samples::None, samples::SampleTensors;

struct SampleShape {
  DType dtype = DType::kFloat32;
  std::int64_t images = 2, groups = 1, in_channels = 3, out_channels = 4;  // of a group
  ConvCall::Pair in = {9, 11}, kernel = {3, 3};
  ConvCall::Pair stride = {1, 1}, padding = {0, 0}, dilation = {1, 1};
  bool bias = true;
  bool channels_last = false;
  bool transposed = false;  // all sizes are still the ordinary convolution's
};

std::int64_t OutExtent(const SampleShape& s, std::size_t d) {
  return (s.in[d] + 2 * s.padding[d] - s.dilation[d] * (s.kernel[d] - 1) - 1) / s.stride[d] + 1;
}

// The output padding of a transposed convolution, so that its result has the size `in`.
ConvCall::Pair OutputPadding(const SampleShape& s) {
  const auto of = [&](std::size_t d) {
    return (s.in[d] + 2 * s.padding[d] - s.dilation[d] * (s.kernel[d] - 1) - 1) % s.stride[d];
  };
  return {of(0), of(1)};
}

// mkldnn_convolution and convolution_backward of that shape, or those of a transposed one.
void AddSamples(std::vector<OpCall>& calls, const SampleShape& s) {
  const auto list = [](const ConvCall::Pair& p) { return Ints({p[0], p[1]}); };
  const std::int64_t channels = s.in_channels * s.groups;
  const std::int64_t outputs = s.out_channels * s.groups;
  for (const bool backward : {false, true}) {
    SampleTensors t;
    const auto image = [&](std::int64_t c, std::int64_t h, std::int64_t w) {
      return s.channels_last
                 ? Value{t.Strided(s.dtype, {s.images, c, h, w}, {c * h * w, 1, w * c, c})}
                 : Value{t.Tensor(s.dtype, {s.images, c, h, w})};
    };
    const auto in = [&] { return image(channels, s.in[0], s.in[1]); };
    const auto out = [&] { return image(outputs, OutExtent(s, 0), OutExtent(s, 1)); };
    const auto weight = [&] {
      return Value{t.Tensor(s.dtype, {outputs, s.in_channels, s.kernel[0], s.kernel[1]})};
    };
    const std::int64_t biases = s.transposed ? channels : outputs;
    const auto bias = [&] { return s.bias ? Value{t.Tensor(s.dtype, {biases})} : None(); };
    const auto from = [&] { return s.transposed ? out() : in(); };
    const auto to = [&] { return s.transposed ? in() : out(); };
    const Value more = list(s.transposed ? OutputPadding(s) : ConvCall::Pair{0, 0});
    if (backward) {
      calls.push_back({"aten::convolution_backward",
                       {to(), from(), weight(), Ints({s.bias ? biases : 0}), list(s.stride),
                        list(s.padding), list(s.dilation), Bool(s.transposed), more, Int(s.groups),
                        Value{ValueList{Bool(true), Bool(true), Bool(s.bias)}}},
                       {from(), weight(), bias()}});
    } else if (s.transposed) {
      calls.push_back(
          {"aten::_convolution",
           {from(), weight(), bias(), list(s.stride), list(s.padding), list(s.dilation), Bool(true),
            more, Int(s.groups), Bool(false), Bool(false), Bool(true), Bool(true)},
           {to()}});
    } else {
      calls.push_back({"aten::mkldnn_convolution",
                       {from(), weight(), bias(), list(s.padding), list(s.stride), list(s.dilation),
                        Int(s.groups)},
                       {to()}});
    }
  }
}

// The other names, and one dimension.
void AddNames(std::vector<OpCall>& calls) {
  SampleTensors t;
  const auto f = DType::kFloat32;
  const Value in{t.Tensor(f, {2, 3, 6, 7})}, weight{t.Tensor(f, {5, 3, 3, 2})};
  const Value bias{t.Tensor(f, {5})};
  const auto out = [&] { return Value{t.Tensor(f, {2, 5, 3, 3})}; };
  const Value one = Ints({1, 0}), two = Ints({2, 2}), unit = Ints({1, 1}), no = Bool(false);
  const Value kernel = Ints({3, 2});
  calls.push_back({"aten::cudnn_convolution",
                   {in, weight, one, two, unit, Int(1), no, no, Bool(true)},
                   {out()}});
  calls.push_back(
      {"aten::miopen_convolution", {in, weight, bias, one, two, unit, Int(1), no, no}, {out()}});
  for (const char* name : {"aten::_slow_conv2d_forward", "aten::thnn_conv2d"}) {
    calls.push_back({name, {in, weight, kernel, bias, two, one}, {out()}});
  }
  calls.push_back(
      {"aten::_slow_conv2d_backward",
       {out(), in, weight, kernel, two, one, Value{ValueList{Bool(true), Bool(true), Bool(true)}}},
       {Value{t.Tensor(f, {2, 3, 6, 7})}, Value{t.Tensor(f, {5, 3, 3, 2})},
        Value{t.Tensor(f, {5})}}});
  calls.push_back({"aten::convolution_overrideable",
                   {in, weight, None(), two, one, unit, no, Ints({0, 0}), Int(1)},
                   {out()}});
  const Value line{t.Tensor(f, {2, 4, 15})}, filter{t.Tensor(f, {6, 4, 5})};
  const auto line_out = [&] { return Value{t.Tensor(f, {2, 6, 7})}; };
  const Value stride = Ints({2}), padding = Ints({1}), dilation = Ints({1});
  calls.push_back({"aten::mkldnn_convolution",
                   {line, filter, None(), padding, stride, dilation, Int(1)},
                   {line_out()}});
  calls.push_back({"aten::convolution_backward",
                   {line_out(), line, filter, None(), stride, padding, dilation, no, Ints({0}),
                    Int(1), Value{ValueList{Bool(true), Bool(true), no}}},
                   {Value{t.Tensor(f, {2, 4, 15})}, Value{t.Tensor(f, {6, 4, 5})}, None()}});
}

void AddTransposedNames(std::vector<OpCall>& calls) {
  SampleTensors t;
  const auto f = DType::kFloat32;
  const Value in{t.Tensor(f, {2, 3, 4, 3})}, weight{t.Tensor(f, {3, 5, 3, 2})};
  const Value bias{t.Tensor(f, {5})};
  const auto out = [&] { return Value{t.Tensor(f, {2, 5, 8, 6})}; };
  const Value one = Ints({1, 0}), two = Ints({2, 2}), unit = Ints({1, 1}), no = Bool(false);
  calls.push_back({"aten::cudnn_convolution_transpose",
                   {in, weight, one, one, two, unit, Int(1), no, no, Bool(true)},
                   {out()}});
  calls.push_back({"aten::miopen_convolution_transpose",
                   {in, weight, bias, one, one, two, unit, Int(1), no, no},
                   {out()}});
  calls.push_back({"aten::slow_conv_transpose2d",
                   {in, weight, Ints({3, 2}), bias, two, one, one, unit},
                   {out()}});
  const Value line{t.Tensor(f, {2, 6, 7})}, filter{t.Tensor(f, {6, 4, 5})};
  calls.push_back({"aten::_convolution",
                   {line, filter, None(), Ints({2}), Ints({1}), Ints({1}), Bool(true), Ints({0}),
                    Int(1), no, no, Bool(true), Bool(true)},
                   {Value{t.Tensor(f, {2, 4, 15})}}});
}

}  // namespace

std::vector<OpCall> ConvSamples() {
  std::vector<OpCall> calls;
  AddSamples(calls, {});
  AddSamples(calls, {.padding = {1, 1}, .bias = false});
  AddSamples(calls, {.in = {16, 17}, .kernel = {7, 7}, .stride = {2, 2}, .padding = {3, 3}});
  AddSamples(calls, {.kernel = {1, 1}, .stride = {2, 2}, .bias = false});
  AddSamples(calls, {.in = {12, 13}, .stride = {3, 2}, .padding = {0, 2}, .dilation = {2, 3}});
  AddSamples(calls, {.in = {12, 13}, .stride = {2, 2}, .padding = {2, 2}, .dilation = {2, 2}});
  AddSamples(calls, {.groups = 3, .in_channels = 2, .padding = {1, 1}});
  AddSamples(calls, {.groups = 5, .in_channels = 1, .out_channels = 1, .padding = {1, 1}});
  AddSamples(calls, {.in_channels = 8, .out_channels = 20, .in = {16, 32}, .padding = {1, 1}});
  AddSamples(calls,
             {.in_channels = 40, .stride = {2, 2}, .padding = {1, 1}, .channels_last = true});
  AddSamples(calls, {.dtype = DType::kBFloat16, .padding = {1, 1}});
  AddSamples(calls, {.dtype = DType::kFloat16, .padding = {1, 1}});
  AddSamples(
      calls,
      {.in = {8, 10}, .kernel = {4, 4}, .stride = {2, 2}, .padding = {1, 1}, .transposed = true});
  AddSamples(calls, {.in = {1, 1}, .kernel = {1, 1}, .transposed = true});
  // Pixels that no tap reaches.
  AddSamples(calls, {.in = {11, 13}, .kernel = {2, 3}, .stride = {3, 4}, .transposed = true});
  AddSamples(calls, {.groups = 3,
                     .in_channels = 2,
                     .in = {9, 8},
                     .stride = {2, 2},
                     .padding = {1, 1},
                     .dilation = {1, 2},
                     .transposed = true});
  AddSamples(calls, {.in_channels = 20,
                     .out_channels = 8,
                     .stride = {2, 2},
                     .padding = {1, 1},
                     .bias = false,
                     .channels_last = true,
                     .transposed = true});
  AddSamples(calls, {.dtype = DType::kBFloat16, .stride = {2, 2}, .transposed = true});
  AddSamples(calls, {.dtype = DType::kFloat16, .stride = {2, 2}, .transposed = true});
  AddNames(calls);
  AddTransposedNames(calls);
  return calls;
}

}  // namespace reprise
