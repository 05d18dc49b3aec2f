// Steps of optimizers: core/operator_table.h says what a row means.
#include "core/operator_table.h"

namespace reprise {

std::span<const OperatorGroup> operator_groups::Optimizers() {
  static constexpr OperatorRow kForeachInPlaceRows[] = {
      {.name = "aten::_foreach_sqrt", .in_place_signature = TorchSignature("(L)0")},
      {.name = "aten::_foreach_mul",
       .in_place_signature = TorchSignature(".List(LL)0 .Tensor(LT)0")},
      {.name = "aten::_foreach_div", .in_place_signature = TorchSignature(".List(LL)0")},
  };

  static constexpr std::string_view kForeachInPlaceNames[] = {
      "aten::_foreach_rsqrt",      "aten::_foreach_neg",     "aten::_foreach_abs",
      "aten::_foreach_exp",        "aten::_foreach_log",     "aten::_foreach_log2",
      "aten::_foreach_log10",      "aten::_foreach_log1p",   "aten::_foreach_expm1",
      "aten::_foreach_sin",        "aten::_foreach_cos",     "aten::_foreach_tan",
      "aten::_foreach_tanh",       "aten::_foreach_sigmoid", "aten::_foreach_erf",
      "aten::_foreach_ceil",       "aten::_foreach_floor",   "aten::_foreach_round",
      "aten::_foreach_trunc",      "aten::_foreach_frac",    "aten::_foreach_sign",
      "aten::_foreach_reciprocal", "aten::_foreach_erfc",    "aten::_foreach_add",
      "aten::_foreach_sub",        "aten::_foreach_pow",     "aten::_foreach_clamp_min",
      "aten::_foreach_clamp_max",  "aten::_foreach_minimum", "aten::_foreach_maximum",
      "aten::_foreach_addcmul",    "aten::_foreach_addcdiv", "aten::_foreach_lerp"};

  static constexpr OperatorRow kMoreOptimizerRows[] = {
      {.name = "aten::_fused_adamw_",
       .kernels = "optimizer",
       .arguments = "decay=9 amsgrad=11 maximize=12 scale=13",
       .cost = CostRule::kAdam,
       .signature = "(LLLLLLfffffbbT?T?)0"},
      {.name = "aten::_fused_adam_",
       .kernels = "optimizer",
       .arguments = "decay=9 amsgrad=11 maximize=12 scale=13",
       .cost = CostRule::kAdam,
       .signature = "(LLLLLLfffffbbT?T?)0"},
      {.name = "aten::_fused_sgd_",
       .kernels = "optimizer",
       .arguments = "decay=3 momentum=4 dampening=6 nesterov=7 maximize=8 first_step=9 scale=10",
       .cost = CostRule::kSgd,
       .signature = "(LLLffffbbbT?T?)0"},
      {.name = "aten::_foreach_*", .cost = CostRule::kForEach},
      {.name = "aten::_amp_foreach_non_finite_check_and_unscale_",
       .kernels = "gradient_scaling",
       .cost = CostRule::kUnscale},
      {.name = "aten::_amp_update_scale_",
       .kernels = "gradient_scaling",
       .cost = CostRule::kUpdateScale},
  };

  static constexpr OperatorGroup kGroups[] = {
      {.info = {OpClass::kOptimizer, OpKind::kWork},
       .kernels = "foreach",
       .cost = CostRule::kForEach,
       .in_place = true,
       .rows = kForeachInPlaceRows,
       .names = kForeachInPlaceNames},
      {.info = {OpClass::kOptimizer, OpKind::kWork}, .rows = kMoreOptimizerRows},
  };
  return kGroups;
}

}  // namespace reprise
