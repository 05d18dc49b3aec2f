#include "core/costs/cost.h"

#include "core/costs/rules.h"
#include "core/operator_table.h"

namespace reprise {
namespace {

// Nothing for operators that no rule describes.
std::optional<Cost> CostByRule(const OpCall& call) {
  using Rule = std::optional<Cost> (*)(const OpCall&);
  static constexpr Rule kRules[] = {
      nullptr,
#define COST_RULE(name) cost_rules::name,
#include "core/operator_rules.def"
  };
  const OperatorRow* row = FindOperatorRow(call.name);
  return row == nullptr || row->cost == CostRule::kNone
             ? std::nullopt
             : kRules[static_cast<std::size_t>(row->cost)](call);
}

}  // namespace

Cost CostOf(const OpCall& call) {
  const std::optional<Cost> cost = CostByRule(call);
  return cost ? *cost : EstimateCost(call);
}

bool HasCostRule(const OpCall& call) { return CostByRule(call).has_value(); }

}  // namespace reprise
