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
struct BatchNormForward {
  NormOperands op;  // mean and rstd are the saved ones, absent in evaluation
  const TensorDesc* running_mean = nullptr;
  const TensorDesc* running_var = nullptr;
  const TensorDesc* y = nullptr;
  BatchNormExtents extents;
  bool training = false;
  double momentum = 0;
  double eps = 0;
};
struct BatchNormBackward {
  NormOperands op;  // rstd holds the running variance in evaluation
  const TensorDesc* g = nullptr;
  const TensorDesc* dx = nullptr;
  const TensorDesc* dw = nullptr;
  const TensorDesc* db = nullptr;
  BatchNormExtents extents;
  bool training = false;
  double eps = 0;
};

// Nothing if the call can't be run exactly.
[[nodiscard]] std::optional<BatchNormForward> ParseBatchNormForward(const OpCall& call);
[[nodiscard]] std::optional<BatchNormBackward> ParseBatchNormBackward(const OpCall& call);

// The host backend's loops, for float32, float16 and bfloat16.
[[nodiscard]] Status RunBatchNormForward(const BatchNormForward& f, const HostBindings& memory);
[[nodiscard]] Status RunBatchNormBackward(const BatchNormBackward& b, const HostBindings& memory);

}  // namespace reprise
