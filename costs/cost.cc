#include "costs/cost.h"

#include <unordered_map>

#include "core/operators.h"
#include "costs/rules.h"

namespace reprise {

// For operators that no rule describes.
std::optional<Cost> cost_rules::None(const OpCall& /*call*/) { return std::nullopt; }

namespace {

using Rule = std::optional<Cost> (*)(const OpCall&);

Rule RuleOf(const OpCall& call) {
  static const auto table = [] {
    using namespace cost_rules;  // NOLINT(google-build-using-namespace): the table's words
    constexpr Rule kRules[] = {
#define OPERATOR(name, op_class, kind, kernels, arguments, cost, result, bounds, signature) cost,
#include "core/operators.def"
#undef OPERATOR
    };
    std::unordered_map<const OperatorRow*, Rule> rules;
    const Rule* rule = kRules;
    for (const OperatorRow& row : OperatorRows()) {
      rules.emplace(&row, *rule++);
    }
    return rules;
  }();
  const OperatorRow* row = FindOperatorRow(call.name);
  return row == nullptr ? cost_rules::None : table.at(row);
}

}  // namespace

Cost CostOf(const OpCall& call) {
  const std::optional<Cost> cost = RuleOf(call)(call);
  return cost ? *cost : EstimateCost(call);
}

bool HasCostRule(const OpCall& call) { return RuleOf(call)(call).has_value(); }

}  // namespace reprise
