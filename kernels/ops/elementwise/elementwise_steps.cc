#include "kernels/ops/elementwise/elementwise_steps.h"

#include <algorithm>

namespace reprise {
namespace {

Status Run(const ElementwiseSteps& steps, const HostBindings& memory, bool exact) {
  for (const ElementwiseCall& step : steps.calls) {
    REPRISE_TRY(RunElementwise(step, memory, exact));
  }
  return {};
}

}  // namespace

void ElementwiseSteps::Add(const char* op, const TensorDesc& result,
                           std::initializer_list<const TensorDesc*> operands) {
  ElementwiseCall step{.op = FindElementwiseOp(op), .result = &result};
  std::transform(operands.begin(), operands.end(), step.operands.begin(),
                 [](const TensorDesc* operand) { return ElementwiseCall::Tensor(*operand); });
  calls.push_back(step);
}

bool CanRun(const ElementwiseSteps& steps) {
  return std::all_of(steps.calls.begin(), steps.calls.end(),
                     [](const ElementwiseCall& step) { return CanRun(step); });
}

Status ReferenceSteps(const ElementwiseSteps& steps, const HostBindings& memory) {
  return Run(steps, memory, /*exact=*/true);
}
Status RunSteps(const ElementwiseSteps& steps, const HostBindings& memory) {
  return Run(steps, memory, /*exact=*/false);
}
void LowerSteps(const ElementwiseSteps& steps, RowLowering& rows) {
  for (const ElementwiseCall& step : steps.calls) {
    rows.Append(LowerElementwise(step, rows.context()));
  }
}

}  // namespace reprise
