// Kernels that are a few element-wise computations, one after the other.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/ops/common/parsed_kernel.h"
#include "kernels/ops/elementwise/elementwise_call.h"

namespace reprise {

struct ElementwiseSteps {
  std::vector<std::unique_ptr<const TensorDesc>> views;  // that `calls` point to
  std::vector<ElementwiseCall> calls;

  const TensorDesc& Keep(TensorDesc view) {
    return *views.emplace_back(std::make_unique<const TensorDesc>(std::move(view)));
  }
  // result = op(operands)
  void Add(const char* op, const TensorDesc& result,
           std::initializer_list<const TensorDesc*> operands) {
    ElementwiseCall& step =
        calls.emplace_back(ElementwiseCall{.op = FindElementwiseOp(op), .result = &result});
    std::ranges::transform(operands, step.operands.begin(), [](const TensorDesc* operand) {
      return ElementwiseCall::Tensor(*operand);
    });
  }
};

template <auto Run>  // RunElementwise or ReferenceElementwise
[[nodiscard]] Status EachStep(const ElementwiseSteps& steps, const HostBindings& memory) {
  for (const ElementwiseCall& step : steps.calls) {
    REPRISE_TRY(Run(step, memory));
  }
  return {};
}

// The form of the calls that `Parse` makes steps of which all can run. `Lower`: of one step.
template <std::optional<ElementwiseSteps> (*Parse)(const OpCall&), auto Lower = LowerElementwise>
[[nodiscard]] CallForm<ElementwiseSteps> StepsForm() {
  const auto parse = [](const OpCall& call) {
    std::optional<ElementwiseSteps> steps = Parse(call);
    return steps && std::ranges::all_of(steps->calls, CanRun) ? std::move(steps) : std::nullopt;
  };
  const auto lower = [](const ElementwiseSteps& steps, RowLowering& rows) {
    for (const ElementwiseCall& step : steps.calls) {
      Lower(step, rows);
    }
  };
  return {parse, EachStep<ReferenceElementwise>, lower, EachStep<RunElementwise>};
}

}  // namespace reprise
