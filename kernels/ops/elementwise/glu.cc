// Gated linear units: one half of a tensor times the sigmoid of the other, as element-wise steps on
// views of the halves.
#include <optional>
#include <utility>

#include "kernels/ops/elementwise/elementwise_steps.h"
#include "kernels/samples.h"

namespace reprise {
namespace {

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
std::optional<ElementwiseSteps> ParseGlu(const OpCall& call) {
  const bool backward = call.name == "aten::glu_backward";
  const TensorDesc* self = call.InputTensor(backward ? 1 : 0);
  const TensorDesc* result = call.OutputTensor(0);
  if (self == nullptr || result == nullptr || !IsFloatKernelType(self->dtype)) {
    return std::nullopt;
  }
  const Value& dim = call.Argument(backward ? 2 : 1);
  const auto halves = Halves(*self, dim);
  if (!halves) {
    return std::nullopt;
  }
  ElementwiseSteps steps;
  const TensorDesc& value = steps.Keep(halves->first);
  const TensorDesc& gate = steps.Keep(halves->second);
  if (!backward) {
    steps.Add("glu", *result, {&value, &gate});
    return result->shape == value.shape ? std::optional(std::move(steps)) : std::nullopt;
  }
  const auto grads = Halves(*result, dim);
  const TensorDesc* grad = call.InputTensor(0);
  if (!grads || result->shape != self->shape || grad == nullptr || grad->shape != value.shape) {
    return std::nullopt;
  }
  steps.Add("glu", steps.Keep(grads->first), {grad, &gate});
  steps.Add("glu_gate_grad", steps.Keep(grads->second), {grad, &value, &gate});
  return steps;
}

std::vector<OpCall> GluSamples() {
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

}  // namespace

std::unique_ptr<Kernel> MakeGlu() {
  return MakeParsedKernel({.name = "glu", .samples = GluSamples}, StepsForm<ParseGlu>());
}

}  // namespace reprise
