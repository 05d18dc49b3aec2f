// Gated linear units: one half of a tensor times the sigmoid of the other, as element-wise steps on
// views of the halves.
#include <algorithm>
#include <array>
#include <initializer_list>
#include <optional>

#include "kernels/ops/common/row_lowering.h"
#include "kernels/ops/elementwise/elementwise_call.h"
#include "kernels/samples.h"

namespace reprise {
namespace {

// Views that the steps' pointers are into.
struct Gated {
  TensorDesc value, gate;            // halves of self
  TensorDesc value_grad, gate_grad;  // halves of the input's gradient; backward only
  const TensorDesc* grad = nullptr;  // of the output; forward: none
  const TensorDesc* out = nullptr;   // forward only

  [[nodiscard]] std::vector<ElementwiseCall> Steps() const;
};

std::optional<std::pair<TensorDesc, TensorDesc>> Halves(const TensorDesc& tensor,
                                                        const Value& dim) {
  const auto at = WrapDim(dim.AsNumber<std::int64_t>(-1), Rank(tensor));
  if (!at || Rank(tensor) == 0 || ExtentOf(tensor, *at) % 2 != 0) {
    return std::nullopt;
  }
  const std::int64_t half = ExtentOf(tensor, *at) / 2;
  const TensorDesc first = Narrowed(tensor, *at, half);
  TensorDesc second = first;
  second.offset += half * tensor.strides[static_cast<std::size_t>(*at)];
  return std::pair(first, second);
}

// glu(self, dim=-1), glu_backward(grad_output, self, dim)
std::optional<Gated> ParseGlu(const OpCall& call) {
  const bool backward = call.name == "aten::glu_backward";
  const TensorDesc* self = call.InputTensor(backward ? 1 : 0);
  const TensorDesc* result = call.OutputTensor(0);
  if (self == nullptr || result == nullptr || !IsFloatKernelType(self->dtype)) {
    return std::nullopt;
  }
  const Value& dim = Argument(call, backward ? 2 : 1);
  const auto halves = Halves(*self, dim);
  if (!halves) {
    return std::nullopt;
  }
  Gated g{.value = halves->first, .gate = halves->second};
  if (backward) {
    const auto grads = Halves(*result, dim);
    g.grad = call.InputTensor(0);
    if (!grads || result->shape != self->shape || g.grad == nullptr ||
        g.grad->shape != g.value.shape) {
      return std::nullopt;
    }
    g.value_grad = grads->first;
    g.gate_grad = grads->second;
  } else {
    g.out = result;
  }
  return g.out == nullptr || g.out->shape == g.value.shape ? std::optional(g) : std::nullopt;
}

ElementwiseCall Step(const char* op, const TensorDesc& result,
                     std::initializer_list<const TensorDesc*> operands) {
  ElementwiseCall step{.op = FindElementwiseOp(op), .result = &result};
  std::size_t k = 0;
  for (const TensorDesc* operand : operands) {
    step.operands.at(k++) = ElementwiseCall::Tensor(*operand);
  }
  return step;
}

std::vector<ElementwiseCall> Gated::Steps() const {
  if (out != nullptr) {
    return {Step("glu", *out, {&value, &gate})};
  }
  return {Step("glu", value_grad, {grad, &gate}),
          Step("glu_gate_grad", gate_grad, {grad, &value, &gate})};
}

class Glu final : public Kernel {
 public:
  [[nodiscard]] std::string_view name() const override { return "glu"; }
  [[nodiscard]] bool Supports(const OpCall& call) const override {
    const auto gated = ParseGlu(call);
    if (!gated) {
      return false;
    }
    const auto steps = gated->Steps();
    return std::all_of(steps.begin(), steps.end(), CanRun);
  }
  [[nodiscard]] Status Reference(const OpCall& call, const HostBindings& memory) const override {
    return Run(call, memory, /*exact=*/true);
  }
  [[nodiscard]] Status RunOnHost(const OpCall& call, const HostBindings& memory) const override {
    return Run(call, memory, /*exact=*/false);
  }
  [[nodiscard]] Result<std::vector<Launch>> LowerToDevice(
      const OpCall& call, const LowerContext& context) const override {
    const Gated gated = *ParseGlu(call);
    std::vector<Launch> launches;
    for (const ElementwiseCall& step : gated.Steps()) {
      REPRISE_ASSIGN(Launch launch, LowerElementwise(step, context));
      launches.push_back(std::move(launch));
    }
    return launches;
  }
  [[nodiscard]] std::vector<OpCall> Samples() const override {
    using samples::Int;
    std::vector<OpCall> calls;
    for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kFloat16}) {
      samples::SampleTensors t;
      const TensorDesc self = t.Strided(dtype, {3, 6, 10}, {70, 1, 7}, 1);
      const TensorDesc grad = t.Tensor(dtype, {3, 6, 10});
      const TensorDesc rows = t.Tensor(dtype, {3, 3, 10});
      const TensorDesc last = t.Tensor(dtype, {3, 6, 5});
      calls.push_back({"aten::glu", {{self}, Int(1)}, {{rows}}});
      calls.push_back({"aten::glu", {{self}, Int(-1)}, {{last}}});
      calls.push_back({"aten::glu_backward", {{rows}, {self}, Int(1)}, {{grad}}});
      calls.push_back({"aten::glu_backward", {{last}, {self}, Int(-1)}, {{grad}}});
    }
    return calls;
  }

 private:
  static Status Run(const OpCall& call, const HostBindings& memory, bool exact) {
    const Gated gated = *ParseGlu(call);
    for (const ElementwiseCall& step : gated.Steps()) {
      REPRISE_TRY(RunElementwise(step, memory, exact));
    }
    return {};
  }
};

}  // namespace

std::unique_ptr<Kernel> MakeGlu() { return std::make_unique<Glu>(); }

}  // namespace reprise
