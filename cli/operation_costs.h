// The costs that the kernels' descriptions give, for programs that have no such table.
#pragma once

#include "converters/operation_cost.h"

namespace reprise {

// As replay counts them: of the kernel that runs the operation, else estimated from the operands.
// Unknown for a node without tensors.
[[nodiscard]] CostTable KernelCosts();

}  // namespace reprise
