// What the operators of the batch norm family mean.
#pragma once

#include <cstdint>
#include <optional>

#include "kernels/kernel.h"
#include "kernels/ops/norms/norm.h"

namespace reprise {

// (images, channels, positions).
struct BatchNormExtents {
  std::int64_t images = 0, channels = 0, n = 0;
};
// In evaluation mean and rstd are the running mean and variance.
struct BatchNormCall : NormOperands {
  const TensorDesc* running_mean = nullptr;  // forward
  const TensorDesc* running_var = nullptr;
  BatchNormExtents extents;
  bool training = false;
  double momentum = 0;
  double eps = 0;
};

// Nothing if the call can't be run exactly.
[[nodiscard]] std::optional<BatchNormCall> ParseBatchNorm(const OpCall& call);

// The host backend's loops, for float32, float16 and bfloat16.
[[nodiscard]] Status RunBatchNormForward(const BatchNormCall& f, const HostBindings& memory);
[[nodiscard]] Status RunBatchNormBackward(const BatchNormCall& b, const HostBindings& memory);

}  // namespace reprise
