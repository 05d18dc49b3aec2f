#include "kernels/ops/elementwise_table.h"

#include <cmath>
#include <limits>
#include <string>
#include <unordered_map>

#include "core/operators.h"
#include "kernels/ops/elementwise_rows.h"

namespace reprise {
namespace {

struct ElementwiseIndex {
  std::unordered_map<std::string_view, const ElementwiseRow*> rows;
  std::vector<std::string_view> names;
  std::vector<std::unique_ptr<std::string>> in_place;

  ElementwiseIndex() {
    for (const ElementwiseRow& row : ElementwiseRows()) {
      Add(row.aten, row);
      // In-place spellings that the operator table knows: aten::add_ and the like.
      auto spelling = std::make_unique<std::string>(std::string(row.aten) + "_");
      if (const auto info = FindOperator(*spelling);
          info && info->kind == OpKind::kWork && row.aten.find("backward") == row.aten.npos) {
        Add(*spelling, row);
        in_place.push_back(std::move(spelling));
      }
    }
  }
  void Add(std::string_view name, const ElementwiseRow& row) {
    rows.emplace(name, &row);
    names.push_back(name);
  }
};

const ElementwiseIndex& TheIndex() {
  static const ElementwiseIndex index;
  return index;
}

// The recorded result; where the capture has none (out= variants that return nothing), the last
// argument; for in-place operators without a result, the first.
const TensorDesc* ResultOf(const OpCall& call) {
  if (const TensorDesc* output = call.OutputTensor(0)) {
    return output;
  }
  return call.name.ends_with('_') ? call.InputTensor(0) : nullptr;
}

// "div" + "floor" → "div_floor"; "none" and an absent string leave the name alone.
std::string OpName(const ElementwiseRow& row, const OpCall& call) {
  std::string name(row.op);
  if (row.text_at >= 0 && static_cast<std::size_t>(row.text_at) < call.inputs.size()) {
    const std::string* text = call.inputs[static_cast<std::size_t>(row.text_at)].AsString();
    if (text != nullptr && !text->empty() && *text != "none") {
      name += "_" + *text;
    }
  }
  return name;
}

// The largest finite number of a floating dtype, with the sign of `like`.
double LargestOf(DType dtype, double like) {
  const double most = dtype == DType::kFloat16    ? 65504.0
                      : dtype == DType::kBFloat16 ? 0x1.fep127
                      : dtype == DType::kFloat64  ? ElementwiseRow::kLargest
                                                  : std::numeric_limits<float>::max();
  return std::copysign(most, like);
}

// elu_backward(grad_output, alpha, scale, input_scale, is_result, self_or_result) has one number
// more than operators have operands. celu scales only the input, selu only the result.
std::string FinishEluBackward(const OpCall& call, ElementwiseCall& parsed) {
  const auto number = [&](std::size_t i) {
    return i < call.inputs.size() ? call.inputs[i].AsNumber<double>(i == 4 ? 0 : 1) : 0;
  };
  const double scale = number(2);
  std::string name = "elu_backward";
  if (scale != 1) {
    if (number(3) != 1) {
      return "";
    }
    name = "selu_backward";
    parsed.operands[2] = ElementwiseCall::Number(Value{number(1) * scale}, 0);
    parsed.operands[3] = ElementwiseCall::Number(Value{scale}, 0);
  }
  return number(4) != 0 ? name + "_result" : name;
}

bool HasArgument(const OpCall& call, std::size_t i) {
  return i < call.inputs.size() && !call.inputs[i].IsNone() &&
         call.inputs[i].AsString() == nullptr && call.inputs[i].AsList() == nullptr;
}

}  // namespace

std::span<const std::string_view> ElementwiseOperators() { return TheIndex().names; }

std::optional<ElementwiseCall> ParseElementwise(const OpCall& call) {
  const auto it = TheIndex().rows.find(call.name);
  if (it == TheIndex().rows.end()) {
    return std::nullopt;
  }
  const ElementwiseRow& row = *it->second;
  if (row.must_lack >= 0 && HasArgument(call, static_cast<std::size_t>(row.must_lack)) &&
      call.InputTensor(static_cast<std::size_t>(row.must_lack)) == nullptr) {
    return std::nullopt;
  }
  ElementwiseCall parsed;
  parsed.result = ResultOf(call);
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
    if (tensor != nullptr && argument.optional && k == 3) {
      tensor = nullptr;  // the out= tensor where the number was left out
    }
    const bool limit = std::fabs(argument.fallback) == ElementwiseRow::kLargest;
    const double fallback =
        limit ? LargestOf(parsed.result->dtype, argument.fallback) : argument.fallback;
    parsed.operands[k] =
        tensor != nullptr ? ElementwiseCall::Tensor(*tensor)
                          : ElementwiseCall::Number(present ? call.inputs[i] : Value{}, fallback);
  }
  std::string name = OpName(row, call);
  if (name == "elu_backward") {
    name = FinishEluBackward(call, parsed);
  }
  if (name == "bitwise_not" && parsed.result->dtype == DType::kBool) {
    name = "logical_not";
  }
  parsed.op = FindElementwiseOp(name);
  return parsed.op == nullptr ? std::nullopt : std::optional(parsed);
}

}  // namespace reprise
