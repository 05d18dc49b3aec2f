// Element-wise operators with broadcasting, strides and type conversion: elementwise_rows.cc says
// which, elementwise.def what they compute.
#include "kernels/ops/common/parsed_kernel.h"
#include "kernels/ops/elementwise/elementwise_table.h"

namespace reprise {
namespace {

std::optional<ElementwiseCall> ParseOne(const OpCall& call) {
  const std::optional<ElementwiseCall> parsed = ParseElementwise(call);
  return parsed && CanRun(*parsed) ? parsed : std::nullopt;
}

Status ReferenceOne(const ElementwiseCall& call, const HostBindings& memory) {
  return RunElementwise(call, memory, /*exact=*/true);
}

Status RunOne(const ElementwiseCall& call, const HostBindings& memory) {
  return RunElementwise(call, memory, /*exact=*/false);
}

void LowerOne(const ElementwiseCall& call, RowLowering& rows) {
  rows.Append(LowerElementwise(call, rows.context()));
}

}  // namespace

std::unique_ptr<Kernel> MakeElementwise() {
  return MakeParsedKernel({.name = "elementwise", .samples = ElementwiseSamples},
                          CallForm<ElementwiseCall>{ParseOne, ReferenceOne, LowerOne, RunOne});
}

}  // namespace reprise
