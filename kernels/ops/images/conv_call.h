// The convolution family: what its calls mean, and the two ways of running one.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/value.h"
#include "kernels/ops/common/row_lowering.h"

namespace reprise {

// A tensor of the convolution: (image, channel, y, x) or (output channel, input channel, y, x).
// With one spatial dimension y has extent 1.
struct ConvTensor {
  const TensorDesc* tensor = nullptr;  // nullptr: not there
  std::array<std::int64_t, 4> shape = {};
  std::array<std::int64_t, 4> strides = {};

  [[nodiscard]] std::int64_t At(std::int64_t i0, std::int64_t i1, std::int64_t i2,
                                std::int64_t i3) const {
    return tensor->offset + i0 * strides[0] + i1 * strides[1] + i2 * strides[2] + i3 * strides[3];
  }
};

// out(b, o, y, x) = bias(o) + sum over c, i, j of
//   in(b, c, y stride - padding + i dilation, …) weight(o, c, i, j)
// within each group of channels. One spatial dimension is two, the first of extent 1. A transposed
// convolution is the input's gradient of an ordinary one, and its gradients are that one's output
// and weight gradient: so every call is up to three products of one ordinary convolution.
struct ConvCall {
  bool transposed = false;  // `input`, `output` and their sizes are the ordinary one's all the same
  std::int64_t images = 0, groups = 1;
  std::int64_t in_channels = 0, out_channels = 0;  // of a group
  // {y, x}
  using Pair = std::array<std::int64_t, 2>;
  Pair in = {1, 1}, out = {1, 1}, kernel = {1, 1};
  Pair stride = {1, 1}, padding = {0, 0}, dilation = {1, 1};
  ConvTensor input, weight, output;            // read, as the products below need
  ConvTensor result, input_grad, weight_grad;  // written: those that the call requires
  // Added to what a forward call writes, and the sums of a backward call's gradient, by channel: of
  // the ordinary convolution's output side, transposed of its input side.
  const TensorDesc* bias = nullptr;
  const TensorDesc* bias_grad = nullptr;
};

// Nothing if the call is not one of them, has three spatial dimensions or another dtype than
// float32, bfloat16 and float16. Pointers are into `call`.
[[nodiscard]] std::optional<ConvCall> ParseConv(const OpCall& call);
// Matrix products that read images under the kernel's window in place; padded ones from a copy.
void LowerConv(const ConvCall& c, RowLowering& rows);
// False if oneDNN has no such convolution (float16, a transposed one in bfloat16 with a bias).
[[nodiscard]] Result<bool> RunConvOnHost(const ConvCall& c, const HostBindings& memory);
// Sums of a tensor's channels, in double, for the Reference and the host.
[[nodiscard]] Status SumChannels(const ConvTensor& t, const TensorDesc& sums,
                                 const HostBindings& memory);
// Kernel::Samples of the family.
[[nodiscard]] std::vector<OpCall> ConvSamples();

}  // namespace reprise
