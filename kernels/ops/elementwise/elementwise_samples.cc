// Calls for conformance tests: every operator of the table, small and odd.
#include <algorithm>
#include <array>

#include "core/operator_arguments.h"
#include "core/operator_table.h"
#include "kernels/ops/elementwise/elementwise_call.h"
#include "kernels/samples.h"

namespace reprise {
namespace {

using samples::SampleTensors;
using Shape = std::vector<std::int64_t>;

bool ReturnsBool(std::string_view op) {
  constexpr std::string_view kNames[] = {
      "eq",         "ne",          "lt",          "le",    "gt",    "ge",      "logical_and",
      "logical_or", "logical_xor", "logical_not", "isnan", "isinf", "isfinite"};
  return std::ranges::find(kNames, op) != std::end(kNames);
}

// Operand k is a tensor in the samples: self, the other of a binary operator, tensors of ternary
// ones; what has a default, thresholds and scales are numbers.
bool IsTensorOperand(const ArgumentPlaces& row, std::size_t k) {
  if (row.Default(kOperandKeys[k])) {
    return false;
  }
  const std::string_view op = row.Word("op");
  if (k < 2) {
    return op != "threshold" || k == 0;
  }
  return k == 2 && (op == "addcmul" || op == "addcdiv" || op == "where");
}

bool IsMask(std::string_view op, std::size_t k) {
  return (op == "where" && k == 0) || ((op == "masked_fill" || op == "masked_scale") && k == 1);
}

Value NumberFor(std::string_view op, std::size_t k, DType dtype) {
  if (op == "clamp" && k == 1) {
    return samples::None();
  }
  // Different numbers for different operands: min < max, slope, scale.
  return IsIntegral(dtype) ? samples::Int(static_cast<std::int64_t>(k) + 1)
                           : samples::Double(0.25 + 0.375 * static_cast<double>(k));
}

// All operands of the shape of the result.
OpCall Plain(const std::string& name, DType dtype, const Shape& shape) {
  const ArgumentPlaces& row = ArgumentPlaces::Of(name);
  const std::string_view op = row.Word("op");
  SampleTensors tensors;
  OpCall call{.name = name};
  const bool in_place = name.ends_with('_') && !name.ends_with("__");
  for (std::size_t k = 0; k < kOperandKeys.size(); ++k) {
    if (row.At(kOperandKeys[k]) >= 0) {
      const auto i = static_cast<std::size_t>(row.At(kOperandKeys[k]));
      call.inputs.resize(std::max(call.inputs.size(), i + 1), samples::None());
      call.inputs[i] = IsTensorOperand(row, k)
                           ? Value{tensors.Tensor(IsMask(op, k) ? DType::kBool : dtype, shape)}
                           : NumberFor(op, k, dtype);
    }
  }
  call.outputs = {in_place ? call.inputs[0]
                           : Value{tensors.Tensor(ReturnsBool(op) ? DType::kBool : dtype, shape)}};
  return call;
}

// Broadcast, transposed and offset operands; another number or a one-element double as the second.
void AddBinaryShapes(std::vector<OpCall>& calls) {
  using samples::Int;
  for (const char* op : {"aten::add", "aten::mul"}) {
    const auto with_alpha = [&](OpCall call) {
      if (call.name == "aten::add" || call.name == "aten::add_") {
        call.inputs.insert(call.inputs.begin() + 2, Int(1));
      }
      calls.push_back(std::move(call));
    };
    SampleTensors t;
    const TensorDesc transposed = t.Strided(DType::kFloat32, {3, 37, 5}, {185, 1, 37}, 2);
    const TensorDesc row = t.Tensor(DType::kFloat32, {37, 1});
    const TensorDesc out = t.Strided(DType::kFloat32, {3, 37, 5}, {200, 5, 1}, 7);
    with_alpha({op, {Value{transposed}, Value{row}}, {Value{out}}});
    const TensorDesc self = t.Tensor(DType::kFloat32, {700, 3});
    const TensorDesc number = t.Tensor(DType::kFloat64, {});
    with_alpha({std::string(op) + "_", {Value{self}, Value{number}}, {Value{self}}});
    const TensorDesc count = t.Tensor(DType::kInt64, {});
    with_alpha({std::string(op) + "_", {Value{self}, Value{count}}, {Value{self}}});
    const TensorDesc narrow = t.Tensor(DType::kBFloat16, {700, 3});
    with_alpha({op, {Value{narrow}, Value{self}}, {Value{t.Tensor(DType::kFloat32, {700, 3})}}});
    const TensorDesc six = t.Strided(DType::kInt32, {2, 3, 2, 3, 2, 3}, {1, 2, 6, 12, 36, 72});
    with_alpha({op, {Value{six}, Int(3)}, {Value{t.Tensor(DType::kInt32, {2, 3, 2, 3, 2, 3})}}});
    const TensorDesc nothing = t.Tensor(DType::kFloat32, {0, 4});
    with_alpha({op, {Value{nothing}, Int(3)}, {Value{t.Tensor(DType::kFloat32, {0, 4})}}});
    // out= variant: (…, out) → out
    const TensorDesc target = t.Tensor(DType::kFloat32, {700, 3});
    with_alpha({op, {Value{self}, Value{number}, Value{target}}, {Value{target}}});
  }
}

// What only some arguments show.
void AddVariants(std::vector<OpCall>& calls) {
  using samples::Double, samples::Int, samples::None, samples::Text;
  SampleTensors t;
  const Value x{t.Tensor(DType::kFloat32, {4, 33})};
  const Value y{t.Tensor(DType::kFloat32, {4, 33})};
  const Value w{t.Tensor(DType::kFloat32, {33})};
  const Value out{t.Tensor(DType::kFloat32, {4, 33})};
  const Value integers{t.Tensor(DType::kInt64, {4, 33})};
  const Value divisor{t.Tensor(DType::kInt64, {33})};
  const Value quotient{t.Tensor(DType::kInt64, {4, 33})};
  const Value negative{t.Strided(DType::kFloat32, {4, 33}, {1, 4})};
  const Value flags{t.Tensor(DType::kBool, {4, 33})};
  calls.push_back({"aten::gelu", {x, Text("tanh")}, {out}});
  calls.push_back({"aten::gelu_backward", {x, y, Text("tanh")}, {out}});
  calls.push_back({"aten::div", {x, y, Text("floor")}, {out}});
  calls.push_back({"aten::div", {x, y, Text("trunc")}, {out}});
  calls.push_back({"aten::div", {integers, divisor, Text("trunc")}, {quotient}});
  calls.push_back({"aten::div", {integers, divisor}, {out}});
  calls.push_back({"aten::div", {x, Int(4)}, {out}});
  calls.push_back({"aten::lerp", {x, y, w}, {out}});
  calls.push_back({"aten::lerp_", {x, y, Double(0.9)}, {x}});
  calls.push_back({"aten::clamp", {x, Double(-0.5), None()}, {out}});
  calls.push_back({"aten::clamp", {integers, Int(-3), Int(3)}, {quotient}});
  calls.push_back({"aten::pow", {x, Int(2)}, {out}});
  calls.push_back({"aten::pow", {x, Double(0.5)}, {out}});
  calls.push_back({"aten::where", {flags, x, Double(0)}, {out}});
  calls.push_back({"aten::masked_fill", {x, flags, Double(-1e9)}, {out}});
  calls.push_back({"aten::gt", {integers, Double(0.5)}, {flags}});
  calls.push_back({"aten::eq", {x, y}, {flags}});
  calls.push_back({"aten::bitwise_not", {flags}, {flags}});
  calls.push_back({"aten::sub", {Value{x}, Int(2), Int(3)}, {out}});
  calls.push_back({"aten::nan_to_num", {x, None(), None(), None()}, {out}});
  // Samples have no NaN: to another tensor, where something is seen to happen.
  calls.push_back({"aten::nan_to_num_", {x, None(), None(), None()}, {out}});
  calls.push_back({"aten::logit_backward", {x, y, None()}, {out}});
  for (const bool is_result : {false, true}) {  // elu's, celu's and selu's
    for (const auto& [alpha, scale, input_scale] :
         {std::array{1.5, 1.0, 1.0}, {0.75, 1.0, 1.25}, {1.67, 1.05, 1.0}}) {
      calls.push_back({"aten::elu_backward",
                       {x, Double(alpha), Double(scale), Double(input_scale),
                        samples::Bool(is_result), negative},
                       {out}});
    }
  }
  calls.push_back({"aten::_prelu_kernel", {negative, w}, {out}});
  calls.push_back({"aten::logit_backward", {x, y, Double(0.125)}, {out}});
}

// Dtypes that the operator is recorded with, by the kinds of numbers that its arithmetic has.
std::vector<DType> TypesOf(std::string_view op_name) {
  using enum DType;
  const ElementwiseOp* op = FindElementwiseOp(op_name);
  if (op->run_double == nullptr) {
    return {kInt64, kInt32, kUInt8};
  }
  if (op->run_integer == nullptr) {
    return {kFloat32, kFloat64, kFloat16, kBFloat16};
  }
  return {kFloat32, kFloat64, kBFloat16, kInt64, kInt32, kInt8};
}

}  // namespace

std::vector<OpCall> ElementwiseSamples() {
  std::vector<OpCall> calls;
  for (const OperatorRow& row : OperatorRows()) {
    const std::string_view op = row.arguments.Word("op");
    if (op.empty() || (row.name.ends_with('_') && !row.name.ends_with("__"))) {
      continue;  // in-place calls: below
    }
    const std::string name(row.name);
    for (const DType dtype : TypesOf(op)) {
      calls.push_back(Plain(name, dtype, {5, 129}));
    }
    if (row.in_place) {
      calls.push_back(Plain(name + "_", TypesOf(op).front(), {3, 401}));
    }
  }
  AddBinaryShapes(calls);
  AddVariants(calls);
  return calls;
}

}  // namespace reprise
