// Products in 8 bits: what is scaled, by what, and the operators that do it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "predict/workload/builder.h"

namespace reprise {

// How numbers of 16 bits become numbers of 8 with a scale.
struct ScalingRecipe {
  std::string_view name, help;
  bool looks_first = false;  // for the largest number: a pass before the one that converts
  // Numbers along the inner dimension that share a scale; 0: the whole tensor does. With blocks
  // each of a matrix's two uses is converted by itself; else one is the other transposed.
  std::int64_t block = 0;
  DType scale = DType::kFloat32;
  DType gradient = DType::kFloat8E5M2;  // of gradients; the others are E4M3
};
[[nodiscard]] std::span<const ScalingRecipe> BuiltinScalingRecipes();
// Null: "none", or no such recipe.
[[nodiscard]] const ScalingRecipe* FindScalingRecipe(std::string_view name);

// x (rows, k) by a scaled weight (n, k): (rows, n). The weight is converted with the first
// micro-batch of a step, and with each one where it is gathered each time.
[[nodiscard]] Var ScaledLinear(Builder& b, const Var& x, Parameter& weight, Parameter* bias);
// The same, group by group, by weight (groups, n, k).
[[nodiscard]] Var ScaledGroupedLinear(Builder& b, const Var& x, Parameter& weight,
                                      const TensorDesc& ends);

}  // namespace reprise
