#include "converters/pytorch/results/infer_results.h"

#include <algorithm>
#include <array>

#include "converters/pytorch/results/result_rules.h"
#include "core/operator_table.h"

namespace reprise::pytorch {
namespace {

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
  using Rule = Results (*)(const CallInputs&);
  static constexpr Rule kRules[] = {
      nullptr,
#define RESULT_RULE(name) name,
#include "core/operator_rules.def"
  };
  const OperatorRow* row = FindOperatorRow(in.name);
  return row == nullptr || row->result == ResultRule::kNone
             ? std::nullopt
             : kRules[static_cast<std::size_t>(row->result)](in);
}

}  // namespace reprise::pytorch
