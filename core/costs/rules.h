// The rules of costs in core/operator_rules.def. Each takes a call of one of its
// operators, and gives nothing where the arguments are none that it describes.
#pragma once

#include <optional>

#include "core/costs/cost.h"

namespace reprise::cost_rules {

#define COST_RULE(name) std::optional<Cost> name(const OpCall& call);
#include "core/operator_rules.def"

}  // namespace reprise::cost_rules
