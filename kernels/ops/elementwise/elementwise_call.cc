#include "kernels/ops/elementwise/elementwise_call.h"

#include <algorithm>
#include <cmath>

#include "kernels/tensor_access.h"

namespace reprise {
namespace {

// Stands for an operand without memory: it broadcasts to anything and has no offset.
const TensorDesc& NoTensor() {
  static const TensorDesc none{.incarnation = 0, .elements = 1, .dtype = DType::kFloat32};
  return none;
}

}  // namespace

ElementwiseCall::Operand ElementwiseCall::Number(const Value& value, double fallback) {
  Operand operand;
  operand.real = value.AsNumber<double>(fallback);
  if (const auto* integer = std::get_if<std::int64_t>(&value.data)) {
    operand.integer = *integer;  // exact beyond 2^53
  } else {
    operand.integer = SaturateToInt(operand.real);
    operand.is_real = std::isfinite(operand.real) && operand.real != std::floor(operand.real);
  }
  return operand;
}

ElementwiseCall CopyTo(const TensorDesc& result, const ElementwiseCall::Operand& from) {
  return {.op = FindElementwiseOp("copy"), .result = &result, .operands = {from}};
}

ComputeType ComputeTypeOf(const ElementwiseCall& call) {
  if (IsFloating(call.result->dtype)) {
    return call.result->dtype == DType::kFloat64 ? ComputeType::kDouble : ComputeType::kFloat;
  }
  ComputeType type = ComputeType::kInteger;
  for (const auto& operand : call.operands) {
    const bool real =
        operand.tensor == nullptr ? operand.is_real : IsFloating(operand.tensor->dtype);
    if (operand.tensor != nullptr && operand.tensor->dtype == DType::kFloat64) {
      return ComputeType::kDouble;
    }
    if (real) {
      type = ComputeType::kFloat;
    }
  }
  return type;
}

std::optional<IndexSpace> SpaceOf(const ElementwiseCall& call) {
  std::array<const TensorDesc*, IndexSpace::kMaxOperands> tensors = {call.result};
  for (std::size_t k = 0; k < 3; ++k) {
    const TensorDesc* tensor = call.operands[k].tensor;
    tensors[k + 1] = tensor == nullptr ? &NoTensor() : tensor;
  }
  if (call.operands[3].tensor != nullptr) {
    return std::nullopt;
  }
  return MakeIndexSpace(call.result->shape, tensors, /*reorder=*/true);
}

bool CanRun(const ElementwiseCall& call) {
  if (call.op == nullptr || call.result == nullptr || !IsKernelType(call.result->dtype)) {
    return false;
  }
  const bool types = std::ranges::all_of(call.operands, [](const auto& operand) {
    return operand.tensor == nullptr || IsKernelType(operand.tensor->dtype);
  });
  const bool exists = ComputeTypeOf(call) == ComputeType::kInteger ? call.op->run_integer != nullptr
                                                                   : call.op->run_double != nullptr;
  return types && exists && SpaceOf(call).has_value();
}

}  // namespace reprise
