// Convolution in one and two dimensions, forward and backward.
#include <string>
#include <utility>
#include <vector>

#include "kernels/ops/conv_call.h"
#include "kernels/ops/conv_run.h"
#include "kernels/samples.h"
#include "kernels/tensor_access.h"

namespace reprise {
namespace {

// Calls body(image, group, out channel, in channel, tap, input pixel, output pixel) for every
// product of the convolution that does not fall on padding. Channels count within the group.
template <typename Body>
void ForEachProduct(const ConvCall& c, Body&& body) {
  using Pair = ConvCall::Pair;
  const auto pixels = [&](std::int64_t b, std::int64_t g, std::int64_t o, std::int64_t ch,
                          const Pair& tap) {
    for (std::int64_t y = 0; y < c.out[0]; ++y) {
      for (std::int64_t x = 0; x < c.out[1]; ++x) {
        const Pair from = {y * c.stride[0] - c.padding[0] + tap[0] * c.dilation[0],
                           x * c.stride[1] - c.padding[1] + tap[1] * c.dilation[1]};
        if (from[0] >= 0 && from[0] < c.in[0] && from[1] >= 0 && from[1] < c.in[1]) {
          body(b, g, o, ch, tap, from, Pair{y, x});
        }
      }
    }
  };
  const auto taps = [&](std::int64_t b, std::int64_t g, std::int64_t o, std::int64_t ch) {
    for (std::int64_t i = 0; i < c.kernel[0]; ++i) {
      for (std::int64_t j = 0; j < c.kernel[1]; ++j) {
        pixels(b, g, o, ch, {i, j});
      }
    }
  };
  for (std::int64_t b = 0; b < c.images; ++b) {
    for (std::int64_t g = 0; g < c.groups; ++g) {
      for (std::int64_t o = 0; o < c.out_channels; ++o) {
        for (std::int64_t ch = 0; ch < c.in_channels; ++ch) {
          taps(b, g, o, ch);
        }
      }
    }
  }
}

// A tensor of the call in double, dense.
class DenseTensor {
 public:
  static Result<DenseTensor> Load(const ConvTensor& t, const HostBindings& memory) {
    DenseTensor dense;
    if (t.tensor == nullptr) {
      return dense;
    }
    REPRISE_ASSIGN(const HostTensor host, HostTensor::Bind(*t.tensor, memory));
    const auto& shape = t.tensor->shape;
    dense.shape_ = {shape[0], shape[1], shape.size() == 3 ? 1 : shape[2], shape.back()};
    dense.values_.resize(static_cast<std::size_t>(ElementCount(shape)));
    dense.ForEach([&](double& value, std::int64_t i0, std::int64_t i1, std::int64_t i2,
                      std::int64_t i3) { value = host.Get(t.At(i0, i1, i2, i3)); });
    return dense;
  }
  [[nodiscard]] Status Store(const ConvTensor& t, const HostBindings& memory) {
    if (t.tensor == nullptr) {
      return {};
    }
    REPRISE_ASSIGN(const HostTensor host, HostTensor::Bind(*t.tensor, memory));
    ForEach([&](const double& value, std::int64_t i0, std::int64_t i1, std::int64_t i2,
                std::int64_t i3) { host.Set(t.At(i0, i1, i2, i3), value); });
    return {};
  }
  void Clear() { std::fill(values_.begin(), values_.end(), 0.0); }
  [[nodiscard]] bool exists() const { return !values_.empty(); }
  double& operator()(std::int64_t i0, std::int64_t i1, std::int64_t i2, std::int64_t i3) {
    return values_[static_cast<std::size_t>(((i0 * shape_[1] + i1) * shape_[2] + i2) * shape_[3] +
                                            i3)];
  }

  template <typename Body>
  void ForEach(Body&& body) {
    std::size_t at = 0;
    for (std::int64_t i0 = 0; i0 < shape_[0]; ++i0) {
      for (std::int64_t i1 = 0; i1 < shape_[1]; ++i1) {
        for (std::int64_t i2 = 0; i2 < shape_[2]; ++i2) {
          for (std::int64_t i3 = 0; i3 < shape_[3]; ++i3) {
            body(values_[at++], i0, i1, i2, i3);
          }
        }
      }
    }
  }

 private:
  std::array<std::int64_t, 4> shape_ = {0, 0, 0, 0};
  std::vector<double> values_;
};

Status ForwardReference(const ConvCall& c, const HostBindings& memory) {
  REPRISE_ASSIGN(DenseTensor input, DenseTensor::Load(c.input, memory));
  REPRISE_ASSIGN(DenseTensor weight, DenseTensor::Load(c.weight, memory));
  REPRISE_ASSIGN(DenseTensor output, DenseTensor::Load(c.output, memory));
  output.Clear();
  if (c.bias != nullptr) {
    REPRISE_ASSIGN(const HostTensor bias, HostTensor::Bind(*c.bias, memory));
    output.ForEach([&](double& value, std::int64_t /*image*/, std::int64_t o, std::int64_t /*y*/,
                       std::int64_t /*x*/) { value = bias.Get(bias.OffsetOfElement(o)); });
  }
  ForEachProduct(c, [&](auto b, auto g, auto o, auto ch, auto tap, auto from, auto to) {
    output(b, g * c.out_channels + o, to[0], to[1]) +=
        input(b, g * c.in_channels + ch, from[0], from[1]) *
        weight(g * c.out_channels + o, ch, tap[0], tap[1]);
  });
  return output.Store(c.output, memory);
}

Status BackwardReference(const ConvCall& c, const HostBindings& memory) {
  REPRISE_ASSIGN(DenseTensor input, DenseTensor::Load(c.input, memory));
  REPRISE_ASSIGN(DenseTensor weight, DenseTensor::Load(c.weight, memory));
  REPRISE_ASSIGN(DenseTensor grad, DenseTensor::Load(c.output, memory));
  REPRISE_ASSIGN(DenseTensor input_grad, DenseTensor::Load(c.input_grad, memory));
  REPRISE_ASSIGN(DenseTensor weight_grad, DenseTensor::Load(c.weight_grad, memory));
  input_grad.Clear();
  weight_grad.Clear();
  ForEachProduct(c, [&](auto b, auto g, auto o, auto ch, auto tap, auto from, auto to) {
    const std::int64_t in_channel = g * c.in_channels + ch;
    const std::int64_t out_channel = g * c.out_channels + o;
    const double up = grad(b, out_channel, to[0], to[1]);
    if (input_grad.exists()) {
      input_grad(b, in_channel, from[0], from[1]) += up * weight(out_channel, ch, tap[0], tap[1]);
    }
    if (weight_grad.exists()) {
      weight_grad(out_channel, ch, tap[0], tap[1]) += up * input(b, in_channel, from[0], from[1]);
    }
  });
  REPRISE_TRY(input_grad.Store(c.input_grad, memory));
  REPRISE_TRY(weight_grad.Store(c.weight_grad, memory));
  if (c.bias_grad != nullptr) {
    REPRISE_ASSIGN(const HostTensor bias, HostTensor::Bind(*c.bias_grad, memory));
    std::vector<double> sums(static_cast<std::size_t>(bias.count()));
    grad.ForEach([&](double& value, std::int64_t /*image*/, std::int64_t o, std::int64_t /*y*/,
                     std::int64_t /*x*/) { sums[static_cast<std::size_t>(o)] += value; });
    for (std::size_t o = 0; o < sums.size(); ++o) {
      bias.Set(bias.OffsetOfElement(static_cast<std::int64_t>(o)), sums[o]);
    }
  }
  return {};
}

class ConvolutionKernel : public Kernel {
 public:
  [[nodiscard]] std::string_view name() const override { return "convolution"; }
  [[nodiscard]] std::span<const std::string_view> operators() const override {
    return ConvOperators();
  }
  [[nodiscard]] bool Supports(const OpCall& call) const override {
    return ParseConv(call).has_value();
  }
  [[nodiscard]] Tolerance tolerance() const override { return {2e-4, 2e-4}; }

  // 2 × output elements × taps × input channels of a group, for the output and for each gradient
  // (padding counts, as in the usual convention: PyTorch's torch/utils/flop_counter.py).
  [[nodiscard]] Cost CostOf(const OpCall& call) const override {
    const auto c = ParseConv(call);
    if (!c) {
      return EstimateCost(call);
    }
    const auto outputs =
        static_cast<double>(c->images * c->groups * c->out_channels * c->out[0] * c->out[1]);
    const double products =
        outputs * static_cast<double>(c->in_channels * c->kernel[0] * c->kernel[1]);
    Cost cost;
    cost.flops = c->backward ? 0 : 2 * products;
    cost.flops += c->input_grad.tensor != nullptr ? 2 * products : 0;
    cost.flops += c->weight_grad.tensor != nullptr ? 2 * products : 0;
    cost.flops += c->bias != nullptr || c->bias_grad != nullptr ? outputs : 0;
    for (const ValueList* values : {&call.inputs, &call.outputs}) {
      for (const TensorDesc* t : TensorsIn(*values)) {
        cost.bytes += static_cast<double>(ElementCount(t->shape)) * SizeOf(t->dtype);
      }
    }
    return cost;
  }

  [[nodiscard]] Status Reference(const OpCall& call, const HostBindings& memory) const override {
    const auto c = ParseConv(call);
    if (!c) {
      return UsageError(call.name + ": arguments that the convolution kernel does not take");
    }
    return c->backward ? BackwardReference(*c, memory) : ForwardReference(*c, memory);
  }
  [[nodiscard]] Status RunOnHost(const OpCall& call, const HostBindings& memory) const override {
    if (const auto c = ParseConv(call)) {
      REPRISE_ASSIGN(const bool done, RunConvOnHost(*c, memory));
      if (done) {
        return {};
      }
    }
    return Reference(call, memory);
  }
  [[nodiscard]] Result<std::vector<Launch>> LowerToDevice(
      const OpCall& call, const LowerContext& context) const override {
    const auto c = ParseConv(call);
    if (!c) {
      return UsageError(call.name + ": arguments that the convolution kernel does not take");
    }
    return LowerConv(*c, context);
  }
  [[nodiscard]] std::vector<OpCall> Samples() const override;
};

using samples::Bool, samples::Int, samples::Ints, samples::None, samples::SampleTensors;

struct SampleShape {
  DType dtype = DType::kFloat32;
  std::int64_t images = 2, groups = 1, in_channels = 3, out_channels = 4;  // of a group
  ConvCall::Pair in = {9, 11}, kernel = {3, 3};
  ConvCall::Pair stride = {1, 1}, padding = {0, 0}, dilation = {1, 1};
  bool bias = true;
  bool channels_last = false;
};

std::int64_t OutExtent(const SampleShape& s, std::size_t d) {
  return (s.in[d] + 2 * s.padding[d] - s.dilation[d] * (s.kernel[d] - 1) - 1) / s.stride[d] + 1;
}

// mkldnn_convolution and convolution_backward of that shape.
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
    const auto bias = [&] { return s.bias ? Value{t.Tensor(s.dtype, {outputs})} : None(); };
    if (backward) {
      calls.push_back({"aten::convolution_backward",
                       {out(), in(), weight(), Ints({s.bias ? outputs : 0}), list(s.stride),
                        list(s.padding), list(s.dilation), Bool(false), Ints({0, 0}), Int(s.groups),
                        Value{ValueList{Bool(true), Bool(true), Bool(s.bias)}}},
                       {in(), weight(), bias()}});
    } else {
      calls.push_back({"aten::mkldnn_convolution",
                       {in(), weight(), bias(), list(s.padding), list(s.stride), list(s.dilation),
                        Int(s.groups)},
                       {out()}});
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

std::vector<OpCall> ConvolutionKernel::Samples() const {
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
  AddNames(calls);
  return calls;
}

}  // namespace

std::unique_ptr<Kernel> MakeConvolution() { return std::make_unique<ConvolutionKernel>(); }

}  // namespace reprise
