#include "predict/workload/ops/scaling.h"

#include <array>
#include <limits>
#include <utility>

#include "predict/workload/ops/model_operators.h"
#include "predict/workload/registry.h"

namespace reprise {
namespace {

constexpr std::int64_t kOutBFloat16 = 15;  // c10::ScalarType

const ScalingRecipe& RecipeOf(const Builder& b) { return *FindScalingRecipe(b.workload.fp8); }

TensorDesc NewScale(Builder& b, const TensorDesc& x) {
  const ScalingRecipe& recipe = RecipeOf(b);
  if (recipe.block == 0) {
    return b.out.New(recipe.scale, {});
  }
  std::vector<std::int64_t> shape = x.shape;
  shape.back() = (shape.back() + recipe.block - 1) / recipe.block;
  return b.out.New(recipe.scale, shape);
}

// One pass that reads x, multiplies by the scale, and writes 8 or 4 bits, as the fused kernels of
// the frameworks do; dense.
ScaledTensor Converted(Builder& b, const TensorDesc& x, const TensorDesc& scale, DType dtype) {
  std::vector<std::int64_t> shape = x.shape;
  shape.back() /= ValuesPerElement(dtype);
  ScaledTensor out{b.out.New(dtype, shape), scale};
  b.out.InPlace("aten::copy_", out.values, x, false);
  return out;
}

TensorDesc GroupedProduct(Builder& b, const ScaledTensor& left, const ScaledTensor& right,
                          const TensorDesc& ends, const std::vector<std::int64_t>& shape) {
  return b.out.Work("aten::_scaled_grouped_mm",
                    Args(left.values, b.Transposed(right.values), left.scale, right.scale, ends,
                         kNoValue, kNoValue, kOutBFloat16, true),
                    b.out.New(DType::kBFloat16, shape));
}

}  // namespace

std::span<const ScalingRecipe> BuiltinScalingRecipes() {
  // Transformer Engine's recipes (transformer_engine/common/recipe), and torchao's of the same.
  static constexpr std::array kRecipes = {
      ScalingRecipe{.name = "delayed", .help = "a scale for each tensor, of earlier steps"},
      ScalingRecipe{.name = "tensorwise",
                    .help = "a scale for each tensor, of its largest number",
                    .looks_first = true},
      ScalingRecipe{.name = "blockwise",
                    .help = "a scale for 128 numbers (DeepSeek-V3)",
                    .block = 128,
                    .gradient = DType::kFloat8E4M3},
      ScalingRecipe{.name = "mxfp8",
                    .help = "a power of two for 32 numbers (OCP microscaling)",
                    .block = 32,
                    .scale = DType::kUInt8,
                    .gradient = DType::kFloat8E4M3},
      // arXiv 2509.25149: the largest number of the tensor sets a second scale, and is found with
      // that of the rotated one (Hadamard) in one pass; rotating is part of converting.
      ScalingRecipe{.name = "nvfp4",
                    .help = "4 bits, a scale for 16 numbers and one for each tensor",
                    .looks_first = true,
                    .block = 16,
                    .scale = DType::kFloat8E4M3,
                    .values = DType::kFloat4E2M1x2,
                    .gradient = DType::kFloat4E2M1x2,
                    .multiple = 32}};
  return kRecipes;
}

int BitsOf(const ScalingRecipe& recipe) {
  return 8 * SizeOf(recipe.values) / ValuesPerElement(recipe.values);
}

const ScalingRecipe* FindScalingRecipe(std::string_view name) {
  return FindByName(BuiltinScalingRecipes(), name);
}

bool IsScaled(const Builder& b, const Parameter& weight) {
  return weight.scaled && FindScalingRecipe(b.workload.fp8) != nullptr;
}

DType ScaledType(const Builder& b) { return RecipeOf(b).values; }
DType ScaledGradientType(const Builder& b) { return RecipeOf(b).gradient; }

ScaledTensor ScaledRows(Builder& b, const TensorDesc& x, DType dtype) {
  const TensorDesc scale = NewScale(b, x);
  if (RecipeOf(b).looks_first) {
    const TensorDesc largest = RecipeOf(b).block == 0 ? scale : b.out.New(DType::kFloat32, {});
    b.out.Work("aten::linalg_vector_norm",
               Args(x, std::numeric_limits<double>::infinity(), kNoValue, false, kNoValue),
               Args(largest));
  }
  return Converted(b, x, scale, dtype);
}

ScaledTensor ScaledColumns(Builder& b, const TensorDesc& x, const ScaledTensor& rows) {
  if (RecipeOf(b).block == 0) {
    return Converted(b, b.Transposed(rows.values), rows.scale, rows.values.dtype);
  }
  const TensorDesc turned = b.Transposed(x);
  return Converted(b, turned, NewScale(b, turned), rows.values.dtype);
}

ScaledMatrix ScaledWeight(Builder& b, Parameter& weight) {
  const bool first = b.batch == 0 && !b.out.facts.recomputed;
  if (weight.value.dtype == ScaledType(b)) {  // as it is stored; only transposed
    if (!weight.scaled_rows.values.IsDefined()) {
      weight.scaled_rows = {weight.value, b.out.New(RecipeOf(b).scale, {}, StorageUse::kInput)};
    }
    if (first || !weight.scaled_columns.values.IsDefined()) {
      weight.scaled_columns = ScaledColumns(b, weight.value, weight.scaled_rows);
    }
    return {weight.scaled_rows, weight.scaled_columns};
  }
  if (b.layout().fsdp || first || !weight.scaled_rows.values.IsDefined()) {
    weight.scaled_rows = ScaledRows(b, weight.value, ScaledType(b));
    weight.scaled_columns = ScaledColumns(b, weight.value, weight.scaled_rows);
  }
  return {weight.scaled_rows, weight.scaled_columns};
}

TensorDesc ScaledProduct(Builder& b, const ScaledTensor& left, const ScaledTensor& right,
                         const TensorDesc* bias, const TensorDesc* to) {
  const TensorDesc turned = b.Transposed(right.values);
  TensorDesc result =
      to != nullptr ? *to
                    : b.out.New(DType::kBFloat16, {left.values.shape[0], right.values.shape[0]});
  ValueList inputs = Args(left.values, turned, left.scale, right.scale);
  inputs.push_back(bias == nullptr ? ToValue(kNoValue) : ToValue(*bias));
  for (const Value& more : Args(kNoValue, kOutBFloat16, true)) {
    inputs.push_back(more);
  }
  b.out.Work("aten::_scaled_mm", std::move(inputs), Args(result));
  return result;
}

void ScaledProductOfView(Builder& b, const TensorDesc& x, DType dtype, const ScaledTensor& right,
                         const TensorDesc& to) {
  const ScaledTensor left = ScaledRows(b, x, dtype);
  const TensorDesc& values = right.values;
  const Ints shape = {x.shape[0], values.shape[1], values.shape[0]};
  const TensorDesc repeated =
      b.out.Host("aten::expand", Args(b.Transposed(values), shape, false),
                 b.out.Alias(values, shape, {0, 1, values.strides[0]}, values.offset));
  b.out.Work("aten::_scaled_grouped_mm",
             Args(left.values, repeated, left.scale, right.scale, kNoValue, kNoValue, kNoValue,
                  kOutBFloat16, true),
             Args(to));
}

Var ScaledGroupedLinear(Builder& b, const Var& x, Parameter& weight, const TensorDesc& ends) {
  b.Op("ScaledGroupedLinear");
  const ScaledTensor in = ScaledRows(b, x.tensor, ScaledType(b));
  const bool frozen = weight.frozen;
  const ScaledTensor kept = frozen ? ScaledTensor{} : ScaledColumns(b, x.tensor, in);
  const ScaledMatrix by = ScaledWeight(b, weight);
  const std::vector<std::int64_t> before = x.shape();
  const TensorDesc result = GroupedProduct(b, in, by.rows, ends, {before[0], weight.shape[1]});
  const ScaledTensor columns = by.columns;
  Parameter* const parameter = &weight;
  return b.Record(
      "ScaledGroupedLinearBackward", {x, Var{.parameter = &weight}}, result,
      [&b, kept, columns, ends, before, parameter, frozen](const TensorDesc& gradient) {
        const ScaledTensor rows = ScaledRows(b, gradient, ScaledGradientType(b));
        if (frozen) {
          return std::vector<Grad>{{GroupedProduct(b, rows, columns, ends, before), true}, {}};
        }
        const ScaledTensor turned = ScaledColumns(b, gradient, rows);
        const TensorDesc dx = GroupedProduct(b, rows, columns, ends, before);
        return WithGroupedGradient(b, dx, *parameter, [=, &b] {
          return GroupedProduct(b, turned, kept, ends, parameter->shape);
        });
      });
}

}  // namespace reprise
