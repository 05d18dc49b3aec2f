// What the recorded arguments of the fused optimizers mean, and the updates in plain C++.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "kernels/ops/common/row_lowering.h"

namespace reprise {

// Flags of optimizer.cl.
inline constexpr std::int32_t kOptimizerDecoupled = 1;
inline constexpr std::int32_t kOptimizerAmsgrad = 2;
inline constexpr std::int32_t kOptimizerMaximize = 4;
inline constexpr std::int32_t kOptimizerNesterov = 8;
inline constexpr std::int32_t kOptimizerFirstStep = 16;
inline constexpr std::int32_t kOptimizerMomentum = 32;
inline constexpr std::int32_t kOptimizerScale = 64;
inline constexpr std::int32_t kOptimizerFoundInf = 128;
inline constexpr std::int32_t kOptimizerTensorRate = 256;

// One parameter tensor. States: Adam's mean, mean square and largest mean square; SGD's momentum.
struct ParameterStep {
  const TensorDesc* param = nullptr;
  const TensorDesc* grad = nullptr;
  std::array<const TensorDesc*, 3> states = {};
  const TensorDesc* step = nullptr;
};

struct OptimizerCall {
  bool adam = true;
  std::int32_t flags = 0;
  double lr = 0;
  double decay = 0;
  double beta1 = 0, beta2 = 0, eps = 0;  // Adam
  double momentum = 0, dampening = 0;    // SGD
  const TensorDesc* rate = nullptr;      // instead of lr
  const TensorDesc* scale = nullptr;
  const TensorDesc* found_inf = nullptr;
  std::vector<ParameterStep> steps;
};

// Nothing if lists or types do not fit together.
[[nodiscard]] std::optional<OptimizerCall> ParseOptimizer(const OpCall& call);
[[nodiscard]] Status ReferenceOptimizer(const OptimizerCall& call, const HostBindings& memory);
// The same; in the host backend's loops where it is plain Adam or AdamW on dense float32.
[[nodiscard]] Status RunOptimizerOnHost(const OptimizerCall& call, const HostBindings& memory);

}  // namespace reprise
