#include "kernels/ops/elementwise_rows.h"

#include "kernels/kernel.h"

namespace reprise {
namespace {

constexpr double kLargest = ElementwiseRow::kLargest;
using RowArgument = ElementwiseRow::Argument;

// Argument i, required; and optional with a default.
constexpr RowArgument A(int i) { return {.index = i}; }
constexpr RowArgument D(int i, double fallback) {
  return {.index = i, .optional = true, .fallback = fallback};
}
constexpr auto kFloats = ElementwiseRow::kFloats;
constexpr auto kIntegers = ElementwiseRow::kIntegers;
constexpr auto kMask = ElementwiseRow::kMask;

// clang-format off
constexpr ElementwiseRow kRows[] = {
    // (self, other, *, alpha=1)
    {"aten::add", "add", {A(0), A(1), D(2, 1)}},
    {"aten::sub", "sub", {A(0), A(1), D(2, 1)}},
    {"aten::rsub", "rsub", {A(0), A(1), D(2, 1)}},
    // (self, other)
    {"aten::mul", "mul", {A(0), A(1)}},
    {"aten::div", "div", {A(0), A(1)}, kFloats, 2},
    {"aten::true_divide", "div", {A(0), A(1)}, kFloats},
    {"aten::floor_divide", "div_floor", {A(0), A(1)}},
    {"aten::remainder", "remainder", {A(0), A(1)}},
    {"aten::fmod", "fmod", {A(0), A(1)}},
    {"aten::pow", "pow", {A(0), A(1)}},
    {"aten::minimum", "minimum", {A(0), A(1)}},
    {"aten::maximum", "maximum", {A(0), A(1)}},
    {"aten::fmin", "fmin", {A(0), A(1)}, kFloats},
    {"aten::fmax", "fmax", {A(0), A(1)}, kFloats},
    {"aten::atan2", "atan2", {A(0), A(1)}, kFloats},
    {"aten::hypot", "hypot", {A(0), A(1)}, kFloats},
    {"aten::copysign", "copysign", {A(0), A(1)}, kFloats},
    {"aten::xlogy", "xlogy", {A(0), A(1)}, kFloats},
    {"aten::eq", "eq", {A(0), A(1)}},
    {"aten::ne", "ne", {A(0), A(1)}},
    {"aten::lt", "lt", {A(0), A(1)}},
    {"aten::le", "le", {A(0), A(1)}},
    {"aten::gt", "gt", {A(0), A(1)}},
    {"aten::ge", "ge", {A(0), A(1)}},
    {"aten::logical_and", "logical_and", {A(0), A(1)}},
    {"aten::logical_or", "logical_or", {A(0), A(1)}},
    {"aten::logical_xor", "logical_xor", {A(0), A(1)}},
    {"aten::bitwise_and", "bitwise_and", {A(0), A(1)}, kIntegers},
    {"aten::bitwise_or", "bitwise_or", {A(0), A(1)}, kIntegers},
    {"aten::bitwise_xor", "bitwise_xor", {A(0), A(1)}, kIntegers},
    {"aten::__and__", "bitwise_and", {A(0), A(1)}, kIntegers},
    {"aten::__or__", "bitwise_or", {A(0), A(1)}, kIntegers},
    {"aten::__lshift__", "lshift", {A(0), A(1)}, kIntegers},
    {"aten::__rshift__", "rshift", {A(0), A(1)}, kIntegers},
    {"aten::clamp_min", "clamp_min", {A(0), A(1)}},
    {"aten::clamp_max", "clamp_max", {A(0), A(1)}},
    // (self)
    {"aten::sqrt", "sqrt", {A(0)}, kFloats},
    {"aten::rsqrt", "rsqrt", {A(0)}, kFloats},
    {"aten::exp", "exp", {A(0)}, kFloats},
    {"aten::exp2", "exp2", {A(0)}, kFloats},
    {"aten::expm1", "expm1", {A(0)}, kFloats},
    {"aten::log", "log", {A(0)}, kFloats},
    {"aten::log2", "log2", {A(0)}, kFloats},
    {"aten::log10", "log10", {A(0)}, kFloats},
    {"aten::log1p", "log1p", {A(0)}, kFloats},
    {"aten::neg", "neg", {A(0)}},
    {"aten::abs", "abs", {A(0)}},
    {"aten::sign", "sign", {A(0)}},
    {"aten::sgn", "sign", {A(0)}},
    {"aten::square", "square", {A(0)}},
    {"aten::reciprocal", "reciprocal", {A(0)}, kFloats},
    {"aten::sin", "sin", {A(0)}, kFloats},
    {"aten::cos", "cos", {A(0)}, kFloats},
    {"aten::tan", "tan", {A(0)}, kFloats},
    {"aten::tanh", "tanh", {A(0)}, kFloats},
    {"aten::asin", "asin", {A(0)}, kFloats},
    {"aten::acos", "acos", {A(0)}, kFloats},
    {"aten::atan", "atan", {A(0)}, kFloats},
    {"aten::sinh", "sinh", {A(0)}, kFloats},
    {"aten::cosh", "cosh", {A(0)}, kFloats},
    {"aten::erf", "erf", {A(0)}, kFloats},
    {"aten::erfc", "erfc", {A(0)}, kFloats},
    {"aten::sigmoid", "sigmoid", {A(0)}, kFloats},
    {"aten::logit", "logit", {A(0)}, kFloats, -1, 1},
    {"aten::relu", "relu", {A(0)}},
    {"aten::relu6", "relu6", {A(0)}, kFloats},
    {"aten::silu", "silu", {A(0)}, kFloats},
    {"aten::mish", "mish", {A(0)}, kFloats},
    {"aten::hardswish", "hardswish", {A(0)}, kFloats},
    {"aten::hardsigmoid", "hardsigmoid", {A(0)}, kFloats},
    {"aten::selu", "selu", {A(0)}, kFloats},
    {"aten::ceil", "ceil", {A(0)}, kFloats},
    {"aten::floor", "floor", {A(0)}, kFloats},
    {"aten::round", "round", {A(0)}, kFloats, -1, 1},
    {"aten::trunc", "trunc", {A(0)}, kFloats},
    {"aten::frac", "frac", {A(0)}, kFloats},
    {"aten::logical_not", "logical_not", {A(0)}},
    {"aten::bitwise_not", "bitwise_not", {A(0)}, kIntegers},
    {"aten::isnan", "isnan", {A(0)}},
    {"aten::isinf", "isinf", {A(0)}},
    {"aten::isfinite", "isfinite", {A(0)}},
    // (self, *, approximate="none"), (grad_output, self, *, approximate="none")
    {"aten::gelu", "gelu", {A(0)}, kFloats, 1},
    {"aten::gelu_backward", "gelu_backward", {A(0), A(1)}, kFloats, 2},
    // (self, min=None, max=None)
    {"aten::clamp", "clamp", {A(0), D(1, -kInfinity), D(2, kInfinity)}},
    {"aten::hardtanh", "clamp", {A(0), D(1, -1), D(2, 1)}, kFloats},
    // (self, end, weight), (self, tensor1, tensor2, *, value=1)
    {"aten::lerp", "lerp", {A(0), A(1), A(2)}, kFloats},
    {"aten::addcmul", "addcmul", {A(0), A(1), A(2), D(3, 1)}, kFloats},
    {"aten::addcdiv", "addcdiv", {A(0), A(1), A(2), D(3, 1)}, kFloats},
    // (condition, self, other), (self, mask, value)
    {"aten::where", "where", {A(0), A(1), A(2)}, kMask},
    {"aten::masked_fill", "masked_fill", {A(0), A(1), A(2)}, kMask},
    // (self, nan=0, posinf=None, neginf=None)
    {"aten::nan_to_num", "nan_to_num", {A(0), D(1, 0), D(2, kLargest), D(3, -kLargest)}},
    // (self, threshold, value), (grad_output, self, threshold)
    {"aten::threshold", "threshold", {A(0), A(1), A(2)}, kFloats},
    {"aten::threshold_backward", "threshold_backward", {A(0), A(1), A(2)}, kFloats},
    // (self, negative_slope=0.01), (grad_output, self, negative_slope, self_is_result)
    {"aten::leaky_relu", "leaky_relu", {A(0), D(1, 0.01)}, kFloats},
    {"aten::leaky_relu_backward", "leaky_relu_backward", {A(0), A(1), A(2)}, kFloats},
    // (self, alpha=1, scale=1, input_scale=1)
    {"aten::elu", "elu", {A(0), D(1, 1), D(2, 1), D(3, 1)}, kFloats},
    // (grad_output, alpha, scale, input_scale, is_result, self_or_result); scale and is_result
    // choose among four operators: elementwise_table.cc
    {"aten::elu_backward", "elu_backward", {A(0), A(5), A(1), A(3)}, kFloats},
    {"aten::celu", "celu", {A(0), D(1, 1)}, kFloats},
    // (self, weight)
    {"aten::_prelu_kernel", "leaky_relu", {A(0), A(1)}, kFloats},
    // (self, lambd=0.5), (grad_output, self, lambd)
    {"aten::hardshrink", "hardshrink", {A(0), D(1, 0.5)}, kFloats},
    {"aten::softshrink", "softshrink", {A(0), D(1, 0.5)}, kFloats},
    {"aten::hardshrink_backward", "shrink_backward", {A(0), A(1), A(2)}, kFloats},
    {"aten::softshrink_backward", "shrink_backward", {A(0), A(1), A(2)}, kFloats},
    // (self, beta=1, threshold=20), (grad_output, self, beta, threshold)
    {"aten::softplus", "softplus", {A(0), D(1, 1), D(2, 20)}, kFloats},
    {"aten::softplus_backward", "softplus_backward", {A(0), A(1), A(2), A(3)}, kFloats},
    // (self) -> output, buffer: what the backward is spared on a CPU; left as it is here
    {"aten::log_sigmoid_forward", "log_sigmoid", {A(0)}, kFloats},
    {"aten::log_sigmoid_backward", "log_sigmoid_backward", {A(0), A(1)}, kFloats},
    // (grad_output, self, eps=None)
    {"aten::logit_backward", "logit_backward", {A(0), A(1), D(2, -1)}, kFloats},
    // (grad_output, self, min, max)
    {"aten::hardtanh_backward", "hardtanh_backward", {A(0), A(1), A(2), A(3)}, kFloats},
    // (grad_output, self) and (grad_output, output)
    {"aten::silu_backward", "silu_backward", {A(0), A(1)}, kFloats},
    {"aten::mish_backward", "mish_backward", {A(0), A(1)}, kFloats},
    {"aten::hardswish_backward", "hardswish_backward", {A(0), A(1)}, kFloats},
    {"aten::hardsigmoid_backward", "hardsigmoid_backward", {A(0), A(1)}, kFloats},
    {"aten::sigmoid_backward", "sigmoid_backward", {A(0), A(1)}, kFloats},
    {"aten::tanh_backward", "tanh_backward", {A(0), A(1)}, kFloats},
    // (grad_output, mask, scale), (self, mask, scale)
    {"aten::native_dropout_backward", "masked_scale", {A(0), A(1), A(2)}, kFloats},
    {"aten::_masked_scale", "masked_scale", {A(0), A(1), A(2)}, kFloats},
};
// clang-format on

}  // namespace

std::span<const ElementwiseRow> ElementwiseRows() { return kRows; }

}  // namespace reprise
