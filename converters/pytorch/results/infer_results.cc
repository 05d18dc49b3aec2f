#include "converters/pytorch/results/infer_results.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

#include "converters/pytorch/results/result_rules.h"

namespace reprise::pytorch {
namespace {

// The operator table's rows; most have no rule.
const std::unordered_map<std::string_view, ResultRule>& Rules() {
  static const auto rules = [] {
    constexpr ResultRule None = nullptr;  // NOLINT: the table's word
    constexpr std::pair<std::string_view, ResultRule> kRows[] = {
#define OPERATOR(name, op_class, kind, kernels, arguments, cost, result, bounds, signature) \
  {name, result},
#include "core/operators.def"
#undef OPERATOR
    };
    std::unordered_map<std::string_view, ResultRule> out;
    for (const auto& [name, rule] : kRows) {
      if (rule != nullptr) {
        out.emplace(name, rule);
      }
    }
    return out;
  }();
  return rules;
}

// In-place operations that give their argument another shape.
constexpr std::array<std::string_view, 11> kReshaping = {
    "aten::resize_", "aten::resize_as_", "aten::set_",      "aten::as_strided_",
    "aten::t_",      "aten::transpose_", "aten::squeeze_",  "aten::unsqueeze_",
    "aten::rename_", "aten::swapdims_",  "aten::swapaxes_",
};

// PyTorch's naming: what ends in one underscore returns its first argument. Those that take lists
// return nothing.
bool IsInPlace(std::string_view name) {
  return name.starts_with("aten::") && name.ends_with('_') && !name.ends_with("__") &&
         !name.starts_with("aten::_foreach_") && !name.starts_with("aten::_fused_") &&
         !name.starts_with("aten::_amp_") &&
         std::find(kReshaping.begin(), kReshaping.end(), name) == kReshaping.end();
}

}  // namespace

std::optional<ValueList> InferResults(const CallInputs& in) {
  if (IsInPlace(in.name)) {
    const TensorDesc* self = in.Tensor(0);
    return self != nullptr ? Results(ValueList{{*self}}) : std::nullopt;
  }
  const auto rule = Rules().find(in.name);
  return rule == Rules().end() ? std::nullopt : rule->second(in);
}

}  // namespace reprise::pytorch
