// The rules that the column `cost` of core/operators.def names. Each takes a call of one of its
// operators, and gives nothing where the arguments are none that it describes.
#pragma once

#include <optional>

#include "costs/cost.h"

namespace reprise::cost_rules {

#define OPERATOR(name, op_class, kind, kernels, arguments, cost, result, bounds, signature) \
  std::optional<Cost> cost(const OpCall& call);
#include "core/operators.def"
#undef OPERATOR

}  // namespace reprise::cost_rules
