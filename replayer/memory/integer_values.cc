#include "replayer/memory/integer_values.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace reprise {
namespace {

using Operation = IntegerValues::Step::Operation;

struct StepRule {
  std::string_view name;
  Operation operation;
};
constexpr std::array kStepRules = {
    StepRule{"aten::add", Operation::kAdd},
    StepRule{"aten::add_", Operation::kAdd},
    StepRule{"aten::sub", Operation::kSubtract},
    StepRule{"aten::sub_", Operation::kSubtract},
    StepRule{"aten::mul", Operation::kMultiply},
    StepRule{"aten::mul_", Operation::kMultiply},
    StepRule{"aten::floor_divide", Operation::kDivide},
    StepRule{"aten::floor_divide_", Operation::kDivide},
    StepRule{"aten::div", Operation::kDivide},
    StepRule{"aten::remainder", Operation::kRemainder},
};

bool IsInteger(const TensorDesc* tensor) {
  return tensor != nullptr && IsIntegral(tensor->dtype) && tensor->dtype != DType::kBool;
}

// The last position along the dimension that input `argument` names, the last dimension without it;
// -1: unknown.
std::int64_t LastPosition(const OpCall& call, std::size_t argument) {
  const TensorDesc* source = call.InputTensor(0);
  if (source == nullptr || source->shape.empty()) {
    return -1;
  }
  const auto rank = static_cast<std::int64_t>(source->shape.size());
  std::int64_t dim =
      call.inputs.size() > argument ? call.inputs[argument].AsNumber<std::int64_t>(-1) : -1;
  dim += dim < 0 ? rank : 0;
  return dim >= 0 && dim < rank ? source->shape[static_cast<std::size_t>(dim)] - 1 : -1;
}

}  // namespace

void IntegerValues::Know(const TensorDesc* tensor, std::int64_t largest) {
  if (IsInteger(tensor) && largest >= 0) {
    std::int64_t& known = largest_.try_emplace(tensor->incarnation, largest).first->second;
    known = std::max(known, largest);
  }
}

std::int64_t IntegerValues::Largest(const TensorDesc* tensor) const {
  if (tensor == nullptr) {
    return -1;
  }
  if (tensor->dtype == DType::kBool) {
    return 1;
  }
  const auto it = largest_.find(tensor->incarnation);
  return it == largest_.end() ? -1 : it->second;
}

void IntegerValues::Note(const OpCall& call) {
  const std::string_view name = call.name;
  const TensorDesc* out = call.OutputTensor(0);
  const auto number = [&](std::size_t i) {
    return call.inputs.size() > i ? call.inputs[i].AsNumber<std::int64_t>(-1) : -1;
  };
  if (name == "aten::arange") {  // (end, …) or (start, end, step, …)
    Know(out, std::max(number(0), number(1)) - 1);
  } else if (name == "aten::random_") {  // (self, from, to) or (self, to)
    Know(out, std::max(number(1), number(2)) - 1);
  } else if (name == "aten::randperm") {
    Know(out, number(0) - 1);
  } else if (name == "aten::argsort") {  // argsort.stable has the dimension one later
    Know(out, LastPosition(call, call.inputs.size() > 3 ? 2 : 1));
  } else if (name == "aten::argmax" || name == "aten::argmin") {
    // Without a dimension the position is that in the flattened tensor.
    const TensorDesc* source = call.InputTensor(0);
    const bool flat = call.inputs.size() < 2 || call.inputs[1].IsNone();
    Know(out, !flat || source == nullptr ? LastPosition(call, 1) : ElementCount(source->shape) - 1);
  } else if (name == "aten::sort") {  // sort.stable has the dimension one later
    const bool stable = call.inputs.size() > 3;
    Know(out, Largest(call.InputTensor(0)));
    Know(call.OutputTensor(1), LastPosition(call, stable ? 2 : 1));
  } else if (name == "aten::topk") {
    Know(call.OutputTensor(1), LastPosition(call, 2));
  } else if (name == "aten::copy_") {
    Know(out, Largest(call.InputTensor(1)));
  } else if (name == "aten::cumsum") {
    const std::int64_t each = Largest(call.InputTensor(0));
    const std::int64_t last = LastPosition(call, 1);
    Know(out, each < 0 || last < 0 ? -1 : each * (last + 1));
  }
}

std::optional<IntegerValues::Step> IntegerValues::StepOf(const OpCall& call) {
  const auto* rule = std::find_if(kStepRules.begin(), kStepRules.end(),
                                  [&](const StepRule& r) { return r.name == call.name; });
  const TensorDesc* operand = call.InputTensor(0);
  const TensorDesc* number = call.InputTensor(1);
  const TensorDesc* out = call.OutputTensor(0);
  if (rule == kStepRules.end() || !IsInteger(operand) || !IsInteger(number) || !IsInteger(out) ||
      ElementCount(number->shape) != 1 || number->incarnation == operand->incarnation) {
    return std::nullopt;
  }
  return Step{rule->operation, operand->incarnation, number->incarnation, out->incarnation};
}

std::int64_t IntegerValues::NumberFor(const Step& step, std::int64_t bound) const {
  const auto it = largest_.find(step.operand);
  const std::int64_t largest = it == largest_.end() ? bound - 1 : it->second;
  switch (step.operation) {
    case Operation::kAdd:
      return std::min<std::int64_t>(0, bound - 1 - largest);
    case Operation::kSubtract:
      return std::max<std::int64_t>(0, largest - (bound - 1));
    case Operation::kMultiply:
      return largest < bound ? 1 : 0;
    case Operation::kDivide:
      return largest / bound + 1;
    case Operation::kRemainder:
      return bound;
  }
  return 1;
}

}  // namespace reprise
