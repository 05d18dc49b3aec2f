// PReLU's gradients, of its input and of its weight: two element-wise steps.
#include <optional>

#include "kernels/ops/elementwise/elementwise_steps.h"
#include "kernels/samples.h"

namespace reprise {
namespace {

// _prelu_kernel_backward(grad_output, self, weight) -> (grad of self, grad of weight), both of
// self's shape; the weight broadcasts. Steps point into `call`.
std::optional<ElementwiseSteps> ParsePrelu(const OpCall& call) {
  const TensorDesc* grad = call.InputTensor(0);
  const TensorDesc* self = call.InputTensor(1);
  const TensorDesc* weight = call.InputTensor(2);
  if (grad == nullptr || self == nullptr || weight == nullptr || !IsFloatKernelType(self->dtype)) {
    return std::nullopt;
  }
  ElementwiseSteps steps;
  if (const TensorDesc* to = call.OutputTensor(0)) {
    steps.Add("leaky_relu_backward", *to, {grad, self, weight});
  }
  if (const TensorDesc* to = call.OutputTensor(1)) {
    steps.Add("prelu_weight_grad", *to, {grad, self});
  }
  for (const ElementwiseCall& step : steps.calls) {
    if (step.result->shape != self->shape) {
      return std::nullopt;
    }
  }
  return steps.calls.empty() ? std::nullopt : std::optional(std::move(steps));
}

std::vector<OpCall> PreluSamples() {
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

}  // namespace

std::unique_ptr<Kernel> MakePreluBackward() {
  return MakeParsedKernel({.name = "prelu_backward", .samples = PreluSamples},
                          StepsForm<ParsePrelu>());
}

}  // namespace reprise
