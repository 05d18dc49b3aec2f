#include "kernels/ops/elementwise/elementwise_table.h"

#include <cmath>
#include <limits>
#include <string>

#include "costs/formula.h"
#include "kernels/ops/elementwise/elementwise_rows.h"

namespace reprise {
namespace {

// The largest finite number of a floating dtype, with the sign of `like`.
double LargestOf(DType dtype, double like) {
  const double most = dtype == DType::kFloat16    ? 65504.0
                      : dtype == DType::kBFloat16 ? 0x1.fep127
                      : dtype == DType::kFloat64  ? ElementwiseRow::kLargest
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

}  // namespace

std::optional<ElementwiseCall> ParseElementwise(const OpCall& call) {
  const ElementwiseRow* found = FindElementwiseRow(call.name);
  if (found == nullptr) {
    return std::nullopt;
  }
  const ElementwiseRow& row = *found;
  if (row.must_lack >= 0 && HasArgument(call, static_cast<std::size_t>(row.must_lack)) &&
      call.InputTensor(static_cast<std::size_t>(row.must_lack)) == nullptr) {
    return std::nullopt;
  }
  ElementwiseCall parsed;
  parsed.result = ElementwiseResult(call);
  if (parsed.result == nullptr) {
    return std::nullopt;
  }
  for (std::size_t k = 0; k < row.operands.size(); ++k) {
    const ElementwiseRow::Argument& argument = row.operands[k];
    if (argument.index < 0) {
      continue;
    }
    const auto i = static_cast<std::size_t>(argument.index);
    const bool present = HasArgument(call, i);
    if (!present && !argument.optional) {
      return std::nullopt;
    }
    const TensorDesc* tensor = present ? call.InputTensor(i) : nullptr;
    // A factor in a tensor, as _foreach_addcmul has them, stays one: CanRun refuses it.
    if (tensor != nullptr && argument.optional && k == 3 && IsResult(*tensor, *parsed.result)) {
      tensor = nullptr;  // the out= tensor where the number was left out
    }
    const bool limit = std::fabs(argument.fallback) == ElementwiseRow::kLargest;
    const double fallback =
        limit ? LargestOf(parsed.result->dtype, argument.fallback) : argument.fallback;
    parsed.operands[k] =
        tensor != nullptr ? ElementwiseCall::Tensor(*tensor)
                          : ElementwiseCall::Number(present ? call.inputs[i] : Value{}, fallback);
  }
  const std::string name = FormulaOf(call, parsed.result->dtype);
  if (name.starts_with("selu_backward")) {
    FinishEluBackward(call, parsed);
  }
  parsed.op = FindElementwiseOp(name);
  return parsed.op == nullptr ? std::nullopt : std::optional(parsed);
}

}  // namespace reprise
