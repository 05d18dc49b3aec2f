#include "cli/operation_costs.h"

#include "kernels/kernel.h"

namespace reprise {

CostTable KernelCosts() {
  return [](Node& node) -> OperationCost {
    OpCall call{.name = node.op.empty() ? node.name : node.op};
    call.inputs.swap(node.inputs);
    call.outputs.swap(node.outputs);
    OperationCost out;
    if (!TensorsIn(call.inputs).empty() || !TensorsIn(call.outputs).empty()) {
      const Kernel* kernel = KernelRegistry::Builtin().Find(call);
      const Cost cost = kernel != nullptr ? kernel->CostOf(call) : EstimateCost(call);
      out = {cost.flops, cost.bytes};
    }
    call.inputs.swap(node.inputs);
    call.outputs.swap(node.outputs);
    return out;
  };
}

}  // namespace reprise
