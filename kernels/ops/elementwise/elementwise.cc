// Element-wise operators with broadcasting, strides and type conversion: elementwise_rows.cc says
// which, elementwise.def what they compute.
#include "kernels/ops/elementwise/elementwise_table.h"

namespace reprise {
namespace {

class Elementwise : public Kernel {
 public:
  [[nodiscard]] std::string_view name() const override { return "elementwise"; }
  [[nodiscard]] bool Supports(const OpCall& call) const override {
    const std::optional<ElementwiseCall> parsed = ParseElementwise(call);
    return parsed && CanRun(*parsed);
  }
  [[nodiscard]] Status Reference(const OpCall& call, const HostBindings& memory) const override {
    return Run(call, memory, /*exact=*/true);
  }
  [[nodiscard]] Status RunOnHost(const OpCall& call, const HostBindings& memory) const override {
    return Run(call, memory, /*exact=*/false);
  }
  [[nodiscard]] Result<std::vector<Launch>> LowerToDevice(
      const OpCall& call, const LowerContext& context) const override {
    const std::optional<ElementwiseCall> parsed = ParseElementwise(call);
    if (!parsed || !CanRun(*parsed)) {
      return UsageError(call.name + ": not an element-wise call that is supported");
    }
    REPRISE_ASSIGN(Launch launch, LowerElementwise(*parsed, context));
    return std::vector<Launch>{std::move(launch)};
  }
  [[nodiscard]] std::vector<OpCall> Samples() const override { return ElementwiseSamples(); }

 private:
  static Status Run(const OpCall& call, const HostBindings& memory, bool exact) {
    const std::optional<ElementwiseCall> parsed = ParseElementwise(call);
    if (!parsed || !CanRun(*parsed)) {
      return UsageError(call.name + ": not an element-wise call that is supported");
    }
    return RunElementwise(*parsed, memory, exact);
  }
};

}  // namespace

std::unique_ptr<Kernel> MakeElementwise() { return std::make_unique<Elementwise>(); }

}  // namespace reprise
