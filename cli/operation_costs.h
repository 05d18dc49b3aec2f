// The costs of costs/, for folders that do not use it.
#pragma once

#include "converters/operation_cost.h"

namespace reprise {

// As replay counts them (costs/cost.h). Unknown for a node without tensors.
[[nodiscard]] CostTable OperatorCosts();

}  // namespace reprise
