// PReLU's gradients, of its input and of its weight: two element-wise steps.
#include <array>
#include <optional>

#include "kernels/ops/common/row_lowering.h"
#include "kernels/ops/elementwise/elementwise_call.h"
#include "kernels/samples.h"

namespace reprise {
namespace {

using Steps = std::vector<ElementwiseCall>;

// _prelu_kernel_backward(grad_output, self, weight) -> (grad of self, grad of weight), both of
// self's shape; the weight broadcasts. Steps point into `call`.
std::optional<Steps> ParsePrelu(const OpCall& call) {
  const TensorDesc* grad = call.InputTensor(0);
  const TensorDesc* self = call.InputTensor(1);
  const TensorDesc* weight = call.InputTensor(2);
  if (grad == nullptr || self == nullptr || weight == nullptr || !IsFloatKernelType(self->dtype)) {
    return std::nullopt;
  }
  Steps steps;
  if (const TensorDesc* to = call.OutputTensor(0)) {
    ElementwiseCall step{.op = FindElementwiseOp("leaky_relu_backward"), .result = to};
    step.operands = {ElementwiseCall::Tensor(*grad), ElementwiseCall::Tensor(*self),
                     ElementwiseCall::Tensor(*weight)};
    steps.push_back(step);
  }
  if (const TensorDesc* to = call.OutputTensor(1)) {
    ElementwiseCall step{.op = FindElementwiseOp("prelu_weight_grad"), .result = to};
    step.operands = {ElementwiseCall::Tensor(*grad), ElementwiseCall::Tensor(*self)};
    steps.push_back(step);
  }
  for (const ElementwiseCall& step : steps) {
    if (step.result->shape != self->shape || !CanRun(step)) {
      return std::nullopt;
    }
  }
  return steps.empty() ? std::nullopt : std::optional(steps);
}

class PreluBackward final : public Kernel {
 public:
  [[nodiscard]] std::string_view name() const override { return "prelu_backward"; }
  [[nodiscard]] bool Supports(const OpCall& call) const override {
    return ParsePrelu(call).has_value();
  }
  [[nodiscard]] Status Reference(const OpCall& call, const HostBindings& memory) const override {
    return Run(call, memory, /*exact=*/true);
  }
  [[nodiscard]] Status RunOnHost(const OpCall& call, const HostBindings& memory) const override {
    return Run(call, memory, /*exact=*/false);
  }
  [[nodiscard]] Result<std::vector<Launch>> LowerToDevice(
      const OpCall& call, const LowerContext& context) const override {
    const Steps steps = *ParsePrelu(call);
    std::vector<Launch> launches;
    for (const ElementwiseCall& step : steps) {
      REPRISE_ASSIGN(Launch launch, LowerElementwise(step, context));
      launches.push_back(std::move(launch));
    }
    return launches;
  }
  [[nodiscard]] std::vector<OpCall> Samples() const override {
    using enum DType;
    std::vector<OpCall> calls;
    const auto add = [&](DType dtype, const Dims& shape, const Dims& weight, const Value& none) {
      samples::SampleTensors t;
      const auto tensor = [&] { return Value{t.Tensor(dtype, shape)}; };
      calls.push_back({"aten::_prelu_kernel_backward",
                       {tensor(), tensor(), Value{t.Tensor(dtype, weight)}},
                       {tensor(), none.IsNone() ? none : tensor()}});
    };
    for (const DType dtype : {kFloat32, kFloat64, kFloat16, kBFloat16}) {
      add(dtype, {2, 5, 3, 7}, {1, 5, 1, 1}, samples::Int(0));
    }
    add(kFloat32, {4, 33}, {1, 1}, samples::Int(0));
    add(kFloat32, {4, 33}, {1, 33}, samples::None());
    add(kFloat32, {0, 33}, {1, 33}, samples::Int(0));
    return calls;
  }

 private:
  static Status Run(const OpCall& call, const HostBindings& memory, bool exact) {
    const Steps steps = *ParsePrelu(call);
    for (const ElementwiseCall& step : steps) {
      REPRISE_TRY(RunElementwise(step, memory, exact));
    }
    return {};
  }
};

}  // namespace

std::unique_ptr<Kernel> MakePreluBackward() { return std::make_unique<PreluBackward>(); }

}  // namespace reprise
