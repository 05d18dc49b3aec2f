#include "predict/workload/ops/scaling.h"

#include <array>
#include <limits>
#include <memory>
#include <optional>

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

// One pass that reads x, multiplies by the scale, and writes 8 bits, as the fused kernels of the
// frameworks do; dense.
ScaledTensor Converted(Builder& b, const TensorDesc& x, const TensorDesc& scale, DType dtype) {
  ScaledTensor out{b.out.New(dtype, x.shape), scale};
  b.out.InPlace("aten::copy_", out.values, x, false);
  return out;
}

ScaledTensor ByRows(Builder& b, const TensorDesc& x, DType dtype) {
  const TensorDesc scale = NewScale(b, x);
  if (RecipeOf(b).looks_first) {
    b.out.Work("aten::linalg_vector_norm",
               Args(x, std::numeric_limits<double>::infinity(), kNoValue, false, kNoValue),
               Args(scale));
  }
  return Converted(b, x, scale, dtype);
}
// The transposed of x, which is `rows` in 8 bits.
ScaledTensor ByColumns(Builder& b, const TensorDesc& x, const ScaledTensor& rows) {
  if (RecipeOf(b).block == 0) {
    return Converted(b, b.Transposed(rows.values), rows.scale, rows.values.dtype);
  }
  const TensorDesc turned = b.Transposed(x);
  return Converted(b, turned, NewScale(b, turned), rows.values.dtype);
}

// A tensor as both products take it.
struct BothWays {
  ScaledTensor rows, columns;
};
BothWays Convert(Builder& b, const TensorDesc& x, DType dtype) {
  const ScaledTensor rows = ByRows(b, x, dtype);
  return {rows, ByColumns(b, x, rows)};
}

BothWays ConvertedWeight(Builder& b, Parameter& weight) {
  const bool first = b.batch == 0 && !b.out.facts.recomputed;
  if (b.layout().fsdp || first || !weight.scaled_rows.values.IsDefined()) {
    const BothWays made = Convert(b, weight.value, DType::kFloat8E4M3);
    weight.scaled_rows = made.rows;
    weight.scaled_columns = made.columns;
  }
  return {weight.scaled_rows, weight.scaled_columns};
}

// left (m, k) by right (n, k), transposed: (m, n).
TensorDesc Product(Builder& b, const ScaledTensor& left, const ScaledTensor& right,
                   const TensorDesc* bias) {
  const TensorDesc turned = b.Transposed(right.values);
  TensorDesc result = b.out.New(DType::kBFloat16, {left.values.shape[0], right.values.shape[0]});
  ValueList inputs = Args(left.values, turned, left.scale, right.scale);
  inputs.push_back(bias == nullptr ? ToValue(kNoValue) : ToValue(*bias));
  for (const Value& more : Args(kNoValue, kOutBFloat16, true)) {
    inputs.push_back(more);
  }
  b.out.Work("aten::_scaled_mm", std::move(inputs), Args(result));
  return result;
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
                    .gradient = DType::kFloat8E4M3}};
  return kRecipes;
}

const ScalingRecipe* FindScalingRecipe(std::string_view name) {
  return FindByName(BuiltinScalingRecipes(), name);
}

Var ScaledLinear(Builder& b, const Var& x, Parameter& weight, Parameter* bias) {
  b.Op("ScaledLinear");
  const std::int64_t k = weight.shape[1];
  const TensorDesc rows = x.tensor.shape.size() == 2
                              ? x.tensor
                              : b.Shaped(x.tensor, {x.tensor.elements / k, k}, "aten::view");
  const ScaledTensor in = ByRows(b, rows, DType::kFloat8E4M3);
  const BothWays by = ConvertedWeight(b, weight);
  b.out.facts.copies = weight.copies;
  TensorDesc result = Product(b, in, by.rows, bias == nullptr ? nullptr : &bias->value);
  b.out.facts.copies = 1;
  std::vector<std::int64_t> shape = x.shape();
  shape.back() = weight.shape[0];
  if (shape.size() != 2) {
    result = b.Shaped(result, shape, "aten::view");
  }
  std::vector<Var> inputs = {x, Var{.parameter = &weight}};
  if (bias != nullptr) {
    inputs.push_back(Var{.parameter = bias});
  }
  const bool has_bias = bias != nullptr;
  // For the weight's gradient: kept, or gathered again as the other layers' inputs are.
  std::optional<ScaledTensor> kept;
  if (!x.regathered) {
    kept = ByColumns(b, rows, in);
  }
  const std::shared_ptr<Regathered> regathered = x.regathered;
  const ScaledTensor columns = by.columns;
  const std::vector<std::int64_t> before = x.shape();
  const std::vector<std::int64_t> matrix = rows.shape;
  Parameter* const parameter = &weight;
  return b.Record("ScaledLinearBackward", inputs, result,
                  [&b, kept, regathered, columns, before, matrix, has_bias,
                   parameter](const TensorDesc& given) {
                    const std::int64_t n = given.shape.back();
                    const TensorDesc gradient =
                        given.shape.size() == 2
                            ? given
                            : b.Shaped(given, {given.elements / n, n}, "aten::view");
                    const BothWays from = Convert(b, gradient, RecipeOf(b).gradient);
                    ScaledTensor input = kept.value_or(ScaledTensor());
                    if (regathered) {
                      const TensorDesc whole = b.out.Part(regathered->Get(), 0, matrix);
                      input = Convert(b, whole, DType::kFloat8E4M3).columns;
                    }
                    b.out.facts.copies = parameter->copies;
                    TensorDesc dx = Product(b, from.rows, columns, nullptr);
                    const TensorDesc dw = Product(b, from.columns, input, nullptr);
                    b.out.facts.copies = 1;
                    if (before.size() != 2) {
                      dx = b.Shaped(dx, before, "aten::view");
                    }
                    std::vector<Grad> out = {{dx, true}, {dw, true}};
                    if (has_bias) {
                      const TensorDesc sum = b.out.New(gradient.dtype, {1, n});
                      b.out.Work("aten::sum", Args(gradient, Ints{0}, true, kNoValue), Args(sum));
                      out.push_back({b.Shaped(sum, {n}), true});
                    }
                    return out;
                  });
}

Var ScaledGroupedLinear(Builder& b, const Var& x, Parameter& weight, const TensorDesc& ends) {
  b.Op("ScaledGroupedLinear");
  const BothWays in = Convert(b, x.tensor, DType::kFloat8E4M3);
  const BothWays by = ConvertedWeight(b, weight);
  const std::vector<std::int64_t> before = x.shape();
  const TensorDesc result = GroupedProduct(b, in.rows, by.rows, ends, {before[0], weight.shape[1]});
  const ScaledTensor kept = in.columns;
  const ScaledTensor columns = by.columns;
  const std::vector<std::int64_t> shape = weight.shape;
  return b.Record("ScaledGroupedLinearBackward", {x, Var{.parameter = &weight}}, result,
                  [&b, kept, columns, ends, before, shape](const TensorDesc& gradient) {
                    const BothWays from = Convert(b, gradient, RecipeOf(b).gradient);
                    const TensorDesc dx = GroupedProduct(b, from.rows, columns, ends, before);
                    const TensorDesc dw = GroupedProduct(b, from.columns, kept, ends, shape);
                    return std::vector<Grad>{{dx, true}, {dw, true}};
                  });
}

}  // namespace reprise
