// Convolution in one and two dimensions, forward and backward.
#include <utility>

#include "kernels/ops/common/host_values.h"
#include "kernels/ops/common/parsed_kernel.h"
#include "kernels/ops/images/conv_call.h"

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
struct DenseTensor {
  std::array<std::int64_t, 4> shape = {0, 0, 0, 0};
  Doubles values;

  [[nodiscard]] bool exists() const { return !values.empty(); }
  double& operator()(std::int64_t i0, std::int64_t i1, std::int64_t i2, std::int64_t i3) {
    return values[static_cast<std::size_t>(((i0 * shape[1] + i1) * shape[2] + i2) * shape[3] + i3)];
  }
  // The channel of element i.
  [[nodiscard]] std::size_t ChannelOf(std::size_t i) const {
    return i / static_cast<std::size_t>(shape[2] * shape[3]) % static_cast<std::size_t>(shape[1]);
  }
};

Result<DenseTensor> Load(const ConvTensor& t, const HostBindings& memory) {
  if (t.tensor == nullptr) {
    return DenseTensor();
  }
  REPRISE_ASSIGN(Doubles values, ReadDoubles(*t.tensor, memory));
  return DenseTensor{t.shape, std::move(values)};
}

// bias[channel] everywhere, or zeros.
Status Start(DenseTensor& to, const TensorDesc* bias, const HostBindings& memory) {
  REPRISE_ASSIGN(const Doubles values, ReadDoublesOr(bias, memory, to.shape[1], 0));
  for (std::size_t i = 0; i < to.values.size(); ++i) {
    to.values[i] = values[to.ChannelOf(i)];
  }
  return {};
}

Status RunReference(const ConvCall& c, const HostBindings& memory) {
  REPRISE_ASSIGN(DenseTensor input, Load(c.input, memory));
  REPRISE_ASSIGN(DenseTensor weight, Load(c.weight, memory));
  REPRISE_ASSIGN(DenseTensor output, Load(c.output, memory));
  REPRISE_ASSIGN(DenseTensor result, Load(c.result, memory));
  REPRISE_ASSIGN(DenseTensor input_grad, Load(c.input_grad, memory));
  REPRISE_ASSIGN(DenseTensor weight_grad, Load(c.weight_grad, memory));
  REPRISE_TRY(Start(result, c.transposed ? nullptr : c.bias, memory));
  REPRISE_TRY(Start(input_grad, c.transposed ? c.bias : nullptr, memory));
  REPRISE_TRY(Start(weight_grad, nullptr, memory));
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
  REPRISE_TRY(WriteDoublesIf(c.result.tensor, memory, result.values));
  REPRISE_TRY(WriteDoublesIf(c.input_grad.tensor, memory, input_grad.values));
  REPRISE_TRY(WriteDoublesIf(c.weight_grad.tensor, memory, weight_grad.values));
  return c.bias_grad == nullptr
             ? Status()
             : SumChannels(c.transposed ? c.input : c.output, *c.bias_grad, memory);
}

Status RunOnHost(const ConvCall& c, const HostBindings& memory) {
  REPRISE_ASSIGN(const bool done, RunConvOnHost(c, memory));
  return done ? Status() : RunReference(c, memory);
}

}  // namespace

Status SumChannels(const ConvTensor& t, const TensorDesc& sums, const HostBindings& memory) {
  REPRISE_ASSIGN(const HostTensor from, HostTensor::Bind(*t.tensor, memory));
  REPRISE_ASSIGN(const HostTensor to, HostTensor::Bind(sums, memory));
  const std::int64_t width = t.shape[3];
  for (std::int64_t channel = 0; channel < to.count(); ++channel) {
    double sum = 0;
    for (std::int64_t b = 0; b < t.shape[0]; ++b) {
      for (std::int64_t i = 0; i < t.shape[2] * width; ++i) {
        sum += from.Get(t.At(b, channel, i / width, i % width));
      }
    }
    to.Set(to.OffsetOfElement(channel), sum);
  }
  return {};
}

std::unique_ptr<Kernel> MakeConvolution() {
  return MakeParsedKernel({.name = "convolution",
                           .program = "conv.cl",
                           .samples = ConvSamples,
                           .tolerance = {2e-4, 2e-4}},
                          CallForm<ConvCall>{ParseConv, RunReference, LowerConv, RunOnHost});
}

}  // namespace reprise
