// Element-wise operators with broadcasting, strides and type conversion. The operator table says
// which, elementwise.def what they compute.
#include <cmath>
#include <limits>
#include <string>

#include "core/costs/call_meaning.h"
#include "core/operator_arguments.h"
#include "kernels/ops/common/parsed_kernel.h"
#include "kernels/ops/elementwise/elementwise_call.h"

namespace reprise {
namespace {

// What stands for the largest finite number of the result's dtype, with either sign.
constexpr double kLargest = std::numeric_limits<double>::max();

double LargestOf(DType dtype, double like) {
  const double most = dtype == DType::kFloat16    ? 65504.0
                      : dtype == DType::kBFloat16 ? 0x1.fep127
                      : dtype == DType::kFloat64  ? kLargest
                                                  : std::numeric_limits<float>::max();
  return std::copysign(most, like);
}

// elu_backward(grad_output, alpha, scale, input_scale, is_result, self_or_result) has one number
// more than operators have operands: what scales only the result takes alpha and scale together.
void FinishEluBackward(const OpCall& call, ElementwiseCall& parsed) {
  const double alpha = call.inputs[1].AsNumber<double>(1);
  const double scale = call.inputs[2].AsNumber<double>(1);
  parsed.operands[2] = ElementwiseCall::Number(Value{alpha * scale}, 0);
  parsed.operands[3] = ElementwiseCall::Number(Value{scale}, 0);
}

bool HasArgument(const OpCall& call, std::size_t i) {
  return i < call.inputs.size() && !call.inputs[i].IsNone() &&
         call.inputs[i].AsString() == nullptr && call.inputs[i].AsList() == nullptr;
}

bool IsResult(const TensorDesc& tensor, const TensorDesc& result) {
  return tensor.incarnation == result.incarnation && tensor.storage_id == result.storage_id &&
         tensor.offset == result.offset && tensor.shape == result.shape;
}

// Nothing if the operator has no `op=` in its row, or its arguments are none that the row describes
// (e.g. round to decimals).
std::optional<ElementwiseCall> ParseElementwise(const OpCall& call) {
  const ArgumentPlaces& places = ArgumentPlaces::Of(call.name);
  const auto lacks = static_cast<std::size_t>(places.At("lacks"));  // -1: beyond every call
  ElementwiseCall parsed{.result = ElementwiseResult(call)};
  if (parsed.result == nullptr || !places.Has("op") ||
      (HasArgument(call, lacks) && call.InputTensor(lacks) == nullptr)) {
    return std::nullopt;
  }
  for (std::size_t k = 0; k < parsed.operands.size(); ++k) {
    const int at = places.At(kOperandKeys[k]);
    if (at < 0) {
      continue;
    }
    const auto i = static_cast<std::size_t>(at);
    const std::optional<double> absent = places.Default(kOperandKeys[k]);
    const bool present = HasArgument(call, i);
    if (!present && !absent) {
      return std::nullopt;
    }
    const TensorDesc* tensor = present ? call.InputTensor(i) : nullptr;
    // A factor in a tensor, as _foreach_addcmul has them, stays one: CanRun refuses it.
    if (tensor != nullptr && absent && k == 3 && IsResult(*tensor, *parsed.result)) {
      tensor = nullptr;  // the out= tensor where the number was left out
    }
    const double number = absent.value_or(0);
    const double fallback =
        std::fabs(number) == kLargest ? LargestOf(parsed.result->dtype, number) : number;
    parsed.operands[k] =
        tensor != nullptr ? ElementwiseCall::Tensor(*tensor)
                          : ElementwiseCall::Number(present ? call.inputs[i] : Value{}, fallback);
  }
  const std::string name = FormulaOf(call, parsed.result->dtype);
  if (name.starts_with("selu_backward")) {
    FinishEluBackward(call, parsed);
  }
  parsed.op = FindElementwiseOp(name);
  return CanRun(parsed) ? std::optional(parsed) : std::nullopt;
}

}  // namespace

std::unique_ptr<Kernel> MakeElementwise() {
  return MakeParsedKernel({.name = "elementwise", .samples = ElementwiseSamples},
                          CallForm<ElementwiseCall>{ParseElementwise, ReferenceElementwise,
                                                    LowerElementwise, RunElementwise});
}

}  // namespace reprise
