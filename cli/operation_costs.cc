#include "cli/operation_costs.h"

#include "costs/cost.h"

namespace reprise {

CostTable OperatorCosts() {
  return [](Node& node) -> OperationCost {
    OpCall call{.name = node.op.empty() ? node.name : node.op};
    call.inputs.swap(node.inputs);
    call.outputs.swap(node.outputs);
    OperationCost out;
    if (!TensorsIn(call.inputs).empty() || !TensorsIn(call.outputs).empty()) {
      const Cost cost = CostOf(call);
      out = {cost.flops, cost.bytes};
    }
    call.inputs.swap(node.inputs);
    call.outputs.swap(node.outputs);
    return out;
  };
}

}  // namespace reprise
