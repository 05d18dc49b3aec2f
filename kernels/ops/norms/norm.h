// What the normalisations share: optional weight, bias and statistics of norm.cl.
#pragma once

#include "kernels/ops/common/row_lowering.h"

namespace reprise {

// Flags of norm.cl.
inline constexpr std::int32_t kNormHasWeight = 1;
inline constexpr std::int32_t kNormHasBias = 2;
inline constexpr std::int32_t kNormCentered = 4;
inline constexpr std::int32_t kNormTraining = 8;
inline constexpr std::int32_t kNormHasRunning = 16;
inline constexpr std::int32_t kNormWantInput = 32;
inline constexpr std::int32_t kNormWantWeight = 64;
inline constexpr std::int32_t kNormWantBias = 128;

struct NormOperands {
  const TensorDesc* x = nullptr;
  const TensorDesc* weight = nullptr;
  const TensorDesc* bias = nullptr;
  const TensorDesc* mean = nullptr;
  const TensorDesc* rstd = nullptr;
  const TensorDesc* y = nullptr;  // forward
  const TensorDesc* g = nullptr;  // backward; what follows where it is wanted
  const TensorDesc* dx = nullptr;
  const TensorDesc* dw = nullptr;
  const TensorDesc* db = nullptr;

  // The gradients that the mask names, in the order of the results.
  void WantGradients(const OpCall& call, const Value& mask);
  // Present are x, rstd and one of y and g, of x's shape. Of one type are x, y, g and dx; weight,
  // bias, dw and db; mean and rstd.
  [[nodiscard]] bool Fit() const;
  // Types X, W and S of norm.cl.
  void UseTypes(RowLowering& rows) const;
  // Which of the optional operands there are.
  [[nodiscard]] std::int32_t Flags() const;
};

}  // namespace reprise
