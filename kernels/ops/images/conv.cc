// Convolution in one and two dimensions, forward and backward.
#include <string>
#include <utility>
#include <vector>

#include "kernels/ops/images/conv_call.h"
#include "kernels/ops/images/conv_run.h"
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

// bias[channel] everywhere, or zeros.
Status Start(DenseTensor& to, const TensorDesc* bias, const HostBindings& memory) {
  to.Clear();
  if (bias == nullptr) {
    return {};
  }
  REPRISE_ASSIGN(const HostTensor values, HostTensor::Bind(*bias, memory));
  to.ForEach([&](double& value, std::int64_t /*image*/, std::int64_t channel, std::int64_t /*y*/,
                 std::int64_t /*x*/) { value = values.Get(values.OffsetOfElement(channel)); });
  return {};
}

Status StoreSums(DenseTensor& grad, const TensorDesc* bias_grad, const HostBindings& memory) {
  if (bias_grad == nullptr) {
    return {};
  }
  REPRISE_ASSIGN(const HostTensor bias, HostTensor::Bind(*bias_grad, memory));
  std::vector<double> sums(static_cast<std::size_t>(bias.count()));
  grad.ForEach([&](double& value, std::int64_t /*image*/, std::int64_t channel, std::int64_t /*y*/,
                   std::int64_t /*x*/) { sums[static_cast<std::size_t>(channel)] += value; });
  for (std::size_t o = 0; o < sums.size(); ++o) {
    bias.Set(bias.OffsetOfElement(static_cast<std::int64_t>(o)), sums[o]);
  }
  return {};
}

Status RunReference(const ConvCall& c, const HostBindings& memory) {
  REPRISE_ASSIGN(DenseTensor input, DenseTensor::Load(c.input, memory));
  REPRISE_ASSIGN(DenseTensor weight, DenseTensor::Load(c.weight, memory));
  REPRISE_ASSIGN(DenseTensor output, DenseTensor::Load(c.output, memory));
  REPRISE_ASSIGN(DenseTensor result, DenseTensor::Load(c.result, memory));
  REPRISE_ASSIGN(DenseTensor input_grad, DenseTensor::Load(c.input_grad, memory));
  REPRISE_ASSIGN(DenseTensor weight_grad, DenseTensor::Load(c.weight_grad, memory));
  REPRISE_TRY(Start(result, c.transposed ? nullptr : c.bias, memory));
  REPRISE_TRY(Start(input_grad, c.transposed ? c.bias : nullptr, memory));
  weight_grad.Clear();
  ForEachProduct(c, [&](auto b, auto g, auto o, auto ch, auto tap, auto from, auto to) {
    const std::int64_t in = g * c.in_channels + ch;
    const std::int64_t out = g * c.out_channels + o;
    if (result.exists()) {
      result(b, out, to[0], to[1]) +=
          input(b, in, from[0], from[1]) * weight(out, ch, tap[0], tap[1]);
    }
    if (input_grad.exists()) {
      input_grad(b, in, from[0], from[1]) +=
          output(b, out, to[0], to[1]) * weight(out, ch, tap[0], tap[1]);
    }
    if (weight_grad.exists()) {
      weight_grad(out, ch, tap[0], tap[1]) +=
          output(b, out, to[0], to[1]) * input(b, in, from[0], from[1]);
    }
  });
  REPRISE_TRY(result.Store(c.result, memory));
  REPRISE_TRY(input_grad.Store(c.input_grad, memory));
  REPRISE_TRY(weight_grad.Store(c.weight_grad, memory));
  return StoreSums(c.transposed ? input : output, c.bias_grad, memory);
}

class ConvolutionKernel : public Kernel {
 public:
  [[nodiscard]] std::string_view name() const override { return "convolution"; }
  [[nodiscard]] bool Supports(const OpCall& call) const override {
    return ParseConv(call).has_value();
  }
  [[nodiscard]] Tolerance tolerance() const override { return {2e-4, 2e-4}; }

  [[nodiscard]] Status Reference(const OpCall& call, const HostBindings& memory) const override {
    const auto c = ParseConv(call);
    if (!c) {
      return UsageError(call.name + ": arguments that the convolution kernel does not take");
    }
    return RunReference(*c, memory);
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
  [[nodiscard]] std::vector<OpCall> Samples() const override { return ConvSamples(); }
};

}  // namespace

std::unique_ptr<Kernel> MakeConvolution() { return std::make_unique<ConvolutionKernel>(); }

}  // namespace reprise
