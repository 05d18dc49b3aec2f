// Products in 8 and 4 bits: what is scaled, by what, and the operators that do it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "predict/workload/builder.h"

namespace reprise {

// How numbers of 16 bits become numbers of 8 or 4 with a scale.
struct ScalingRecipe {
  std::string_view name, help;
  bool looks_first = false;  // for the largest number: a pass before the one that converts
  // Numbers along the inner dimension that share a scale; 0: the whole tensor does. With blocks
  // each of a matrix's two uses is converted by itself; else one is the other transposed.
  std::int64_t block = 0;
  DType scale = DType::kFloat32;
  DType values = DType::kFloat8E4M3;  // of all but gradients
  DType gradient = DType::kFloat8E5M2;
  std::int64_t multiple = 16;  // of which products take sizes (aten::_scaled_mm: 16 bytes)
};
[[nodiscard]] std::span<const ScalingRecipe> BuiltinScalingRecipes();
// Of a number that products take.
[[nodiscard]] int BitsOf(const ScalingRecipe& recipe);
// Null: "none", or no such recipe.
[[nodiscard]] const ScalingRecipe* FindScalingRecipe(std::string_view name);

// Whether products with the weight are scaled.
[[nodiscard]] bool IsScaled(const Builder& b, const Parameter& weight);

// A matrix as its two products take it: by rows, and its transposed by rows.
struct ScaledMatrix {
  ScaledTensor rows, columns;
};
[[nodiscard]] ScaledTensor ScaledRows(Builder& b, const TensorDesc& x, DType dtype);
// `rows`: of x.
[[nodiscard]] ScaledTensor ScaledColumns(Builder& b, const TensorDesc& x, const ScaledTensor& rows);
// Converted with the first micro-batch of a step, and each time where it is gathered each time.
[[nodiscard]] ScaledMatrix ScaledWeight(Builder& b, Parameter& weight);
// By the job's recipe: of gradients; of everything else.
[[nodiscard]] DType ScaledGradientType(const Builder& b);
[[nodiscard]] DType ScaledType(const Builder& b);

// left (m, k) by right (n, k), transposed: (m, n), into `to` if it is given.
TensorDesc ScaledProduct(Builder& b, const ScaledTensor& left, const ScaledTensor& right,
                         const TensorDesc* bias = nullptr, const TensorDesc* to = nullptr);
// x, a view (members, m, k), by the same matrix for each member, into `to` (members, m, n).
void ScaledProductOfView(Builder& b, const TensorDesc& x, DType dtype, const ScaledTensor& right,
                         const TensorDesc& to);
// As GroupedLinear.
[[nodiscard]] Var ScaledGroupedLinear(Builder& b, const Var& x, Parameter& weight,
                                      const TensorDesc& ends);

}  // namespace reprise
