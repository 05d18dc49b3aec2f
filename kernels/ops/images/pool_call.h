// The meaning of the pooling family's operators.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/kernel.h"

namespace reprise {

// Images (image, channel, y, x); without images there is one.
struct PoolTensor {
  const TensorDesc* tensor = nullptr;  // nullptr: not there
  std::array<std::int64_t, 4> strides = {};

  [[nodiscard]] std::int64_t At(std::int64_t b, std::int64_t c, std::int64_t y,
                                std::int64_t x) const {
    return tensor->offset + b * strides[0] + c * strides[1] + y * strides[2] + x * strides[3];
  }
};

struct PoolCall {
  enum class Kind { kMax, kAverage } kind = Kind::kMax;
  bool adaptive = false;  // windows that divide the input evenly; no kernel, stride, …
  bool backward = false;
  std::int64_t images = 1, channels = 0;
  // {y, x}
  using Pair = std::array<std::int64_t, 2>;
  Pair in_size = {}, out_size = {};
  Pair kernel = {1, 1}, stride = {1, 1}, padding = {0, 0}, dilation = {1, 1};
  bool count_padding = true;
  std::int64_t divisor = 0;  // 0: the window's size
  PoolTensor input, output;  // backward: both are gradients, the input's written
  PoolTensor index;          // kMax: y × width + x of each window's largest

  // Window o along dimension d: [begin, end), with padding; taps are `dilation` apart.
  struct Window {
    std::int64_t begin, end;
  };
  [[nodiscard]] Window WindowOf(std::size_t d, std::int64_t o) const;
  // What the sum over a window is divided by.
  [[nodiscard]] double DivisorOf(std::int64_t oy, std::int64_t ox) const;
};

// Nothing if the call is not one of the family or has another dtype than the floating ones.
// Pointers are into `call`.
[[nodiscard]] std::optional<PoolCall> ParsePool(const OpCall& call);
// Float32 images on the host, tap by tap over whole rows. False where there is no such loop: other
// dtypes, rows that are not dense, adaptive windows, images too large for 31-bit indices.
[[nodiscard]] Result<bool> RunPoolOnHost(const PoolCall& p, const HostBindings& memory);
// Kernel::Samples of the family.
[[nodiscard]] std::vector<OpCall> PoolSamples();

}  // namespace reprise
