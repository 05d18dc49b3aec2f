// Calls for conformance tests: every operator of the table, small and odd.
#include <algorithm>
#include <array>

#include "core/operators.h"
#include "kernels/ops/elementwise/elementwise_rows.h"
#include "kernels/ops/elementwise/elementwise_table.h"
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

bool IsBackward(const ElementwiseRow& row) {
  return row.aten.find("_backward") != std::string_view::npos;
}

// Operand k is a tensor in the samples: self, the other of a binary operator, tensors of ternary
// ones; what has a default, thresholds and scales are numbers.
bool IsTensorOperand(const ElementwiseRow& row, std::size_t k) {
  if (row.operands[k].optional) {
    return false;
  }
  if (k < 2) {
    return row.op != "threshold" || k == 0;
  }
  return k == 2 && (row.op == "addcmul" || row.op == "addcdiv" || row.op == "where");
}

bool IsMask(const ElementwiseRow& row, std::size_t k) {
  return (row.op == "where" && k == 0) ||
         ((row.op == "masked_fill" || row.op == "masked_scale") && k == 1);
}

DType ResultType(const ElementwiseRow& row, DType dtype, bool in_place) {
  return ReturnsBool(row.op) && !in_place ? DType::kBool : dtype;
}

Value NumberFor(const ElementwiseRow& row, std::size_t k, DType dtype) {
  if (row.op == "clamp" && k == 1) {
    return samples::None();
  }
  // Different numbers for different operands: min < max, slope, scale.
  return IsIntegral(dtype) ? samples::Int(static_cast<std::int64_t>(k) + 1)
                           : samples::Double(0.25 + 0.375 * static_cast<double>(k));
}

// All operands of the shape of the result.
OpCall Plain(const ElementwiseRow& row, const std::string& name, DType dtype, const Shape& shape) {
  SampleTensors tensors;
  OpCall call{.name = name};
  const bool in_place = name.ends_with('_') && !name.ends_with("__");
  const int last = std::ranges::max(row.operands, {}, &ElementwiseRow::Argument::index).index;
  call.inputs.resize(static_cast<std::size_t>(last) + 1, samples::None());
  for (std::size_t k = 0; k < row.operands.size(); ++k) {
    if (row.operands[k].index >= 0) {
      Value& value = call.inputs[static_cast<std::size_t>(row.operands[k].index)];
      value = IsTensorOperand(row, k)
                  ? Value{tensors.Tensor(IsMask(row, k) ? DType::kBool : dtype, shape)}
                  : NumberFor(row, k, dtype);
    }
  }
  call.outputs = {in_place ? call.inputs[0]
                           : Value{tensors.Tensor(ResultType(row, dtype, in_place), shape)}};
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
  using samples::Double;
  using samples::Int;
  using samples::None;
  using samples::Text;
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
std::vector<DType> TypesOf(const ElementwiseRow& row) {
  using enum DType;
  const ElementwiseOp* op = FindElementwiseOp(row.op);
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
  for (const ElementwiseRow& row : ElementwiseRows()) {
    const std::string name(row.aten);
    for (const DType dtype : TypesOf(row)) {
      calls.push_back(Plain(row, name, dtype, {5, 129}));
    }
    const std::optional<OpInfo> in_place = FindOperator(name + "_");
    if (in_place && in_place->kind == OpKind::kWork && !IsBackward(row)) {
      calls.push_back(Plain(row, name + "_", TypesOf(row).front(), {3, 401}));
    }
  }
  AddBinaryShapes(calls);
  AddVariants(calls);
  return calls;
}

}  // namespace reprise
