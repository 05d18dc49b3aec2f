// Kernels that are a few element-wise computations, one after the other.
#pragma once

#include <initializer_list>
#include <memory>
#include <optional>
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
           std::initializer_list<const TensorDesc*> operands);
};

[[nodiscard]] bool CanRun(const ElementwiseSteps& steps);
// In double precision; in the compute types; with programs.
[[nodiscard]] Status ReferenceSteps(const ElementwiseSteps& steps, const HostBindings& memory);
[[nodiscard]] Status RunSteps(const ElementwiseSteps& steps, const HostBindings& memory);
void LowerSteps(const ElementwiseSteps& steps, RowLowering& rows);

// The calls that `Parse` makes steps of which all can run.
template <std::optional<ElementwiseSteps> (*Parse)(const OpCall&)>
[[nodiscard]] std::optional<ElementwiseSteps> ParseRunnable(const OpCall& call) {
  std::optional<ElementwiseSteps> steps = Parse(call);
  return steps && CanRun(*steps) ? std::move(steps) : std::nullopt;
}

}  // namespace reprise
