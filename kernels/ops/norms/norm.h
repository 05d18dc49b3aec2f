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

  // Weight and bias alike, mean and rstd alike; x and rstd present.
  [[nodiscard]] bool TypesFit() const;
  // Gradients that are wanted have the types of what they are gradients of.
  [[nodiscard]] bool GradientsFit(const TensorDesc* dx, const TensorDesc* dw,
                                  const TensorDesc* db) const;
  // Types X, W and S of norm.cl; `gradient` stands for a missing weight.
  [[nodiscard]] Status UseTypes(RowLowering& rows, const TensorDesc* gradient = nullptr) const;
  [[nodiscard]] std::int32_t Flags() const {
    return (weight != nullptr ? kNormHasWeight : 0) | (bias != nullptr ? kNormHasBias : 0);
  }
};

}  // namespace reprise
