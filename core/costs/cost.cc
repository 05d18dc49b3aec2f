#include "core/costs/cost.h"

#include <algorithm>
#include <optional>

#include "core/costs/rules.h"
#include "core/kernel_names.h"
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

// Inductor's kernel gets its tensors, then the sizes of what it loops over: their product is its
// number of points. It reads or writes each tensor once for a point at most, so that tables of
// which it takes rows don't count as a whole. One operation a point.
std::optional<Cost> FusedCost(const OpCall& call) {
  double points = 1;
  bool sized = false;
  for (auto value = call.inputs.rbegin(); value != call.inputs.rend(); ++value) {
    const auto* const size = std::get_if<std::int64_t>(&value->data);
    if (size == nullptr || *size <= 0) {
      break;
    }
    points *= static_cast<double>(*size);
    sized = true;
  }
  if (!sized || !IsFusedKernelName(call.name)) {
    return std::nullopt;
  }
  double bytes = 0;
  for (const TensorDesc* tensor : TensorsIn(call.inputs)) {
    const auto elements = static_cast<double>(ElementCount(tensor->shape));
    bytes += std::min(elements, points) * SizeOf(tensor->dtype);
  }
  return Cost{points, bytes};
}

}  // namespace

Cost CostOf(const OpCall& call) {
  std::optional<Cost> cost = CostByRule(call);
  if (!cost) {
    cost = FusedCost(call);
  }
  return cost ? *cost : EstimateCost(call);
}

bool HasCostRule(const OpCall& call) { return CostByRule(call).has_value(); }

}  // namespace reprise
