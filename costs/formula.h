// What an element-wise call computes, by name: for costs, and for the kernel that computes it.
#pragma once

#include <string>
#include <string_view>

#include "core/value.h"

namespace reprise {

// The name that costs/formulas.def has: `op=` of the operator's row, and what arguments add to it
// ("div" with the text "floor" is "div_floor"). Empty if the operator has no `op=`, or has
// arguments that no formula describes (elu_backward that scales both input and result).
[[nodiscard]] std::string FormulaOf(const OpCall& call, DType result);

// The recorded result of an element-wise call; for in-place operators without one, the first
// argument; nullptr if there is neither.
[[nodiscard]] const TensorDesc* ElementwiseResult(const OpCall& call);

}  // namespace reprise
