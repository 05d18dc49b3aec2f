#include "costs/cost.h"

#include <unordered_map>

#include "core/operators.h"
#include "costs/rules.h"

namespace reprise {
namespace {

const std::unordered_map<const OperatorRow*, cost_rules::Rule>& CostRules() {
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
  return table;
}

cost_rules::Rule RuleOf(const OpCall& call) {
  const OperatorRow* row = FindOperatorRow(call.name);
  return row == nullptr ? nullptr : CostRules().at(row);
}

}  // namespace

Cost CostOf(const OpCall& call) {
  const cost_rules::Rule rule = RuleOf(call);
  const std::optional<Cost> cost = rule == nullptr ? std::nullopt : rule(call);
  return cost ? *cost : EstimateCost(call);
}

bool HasCostRule(const OpCall& call) {
  const cost_rules::Rule rule = RuleOf(call);
  return rule != nullptr && rule(call).has_value();
}

}  // namespace reprise
