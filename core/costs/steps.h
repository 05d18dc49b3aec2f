// Operators that stand for other operators, as the calls that they stand for: for costs, and for
// the kernels that run the calls one after the other.
#pragma once

#include <array>
#include <vector>

#include "core/value.h"

namespace reprise {

// _foreach_add_(self[], …) is add for each tensor, max(self, other) is maximum. In place is out of
// place with self for the result: not every operator has both forms. Empty if the call is none of
// these, or its lists do not fit together.
[[nodiscard]] std::vector<OpCall> ForEachSteps(const OpCall& call);

// _addmm_activation: addmm, then relu_ or gelu_ on the result.
[[nodiscard]] std::array<OpCall, 2> ActivatedProductSteps(const OpCall& call);

}  // namespace reprise
