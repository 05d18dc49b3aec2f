#include "costs/formula.h"

#include "core/operator_arguments.h"

namespace reprise {
namespace {

// elu_backward(grad_output, alpha, scale, input_scale, is_result, self_or_result) stands for four
// formulas: celu scales only the input, selu only the result, and either may be of the result.
std::string EluBackward(const OpCall& call) {
  const auto number = [&](std::size_t i, double absent) {
    return i < call.inputs.size() ? call.inputs[i].AsNumber<double>(absent) : 0;
  };
  std::string name = "elu_backward";
  if (number(2, 1) != 1) {
    if (number(3, 1) != 1) {
      return "";
    }
    name = "selu_backward";
  }
  return number(4, 0) != 0 ? name + "_result" : name;
}

}  // namespace

std::string FormulaOf(const OpCall& call, DType result) {
  const ArgumentPlaces& places = ArgumentPlaces::Of(call.name);
  std::string name(places.Word("op"));
  const auto text_at = static_cast<std::size_t>(places.At("text"));  // -1: beyond every call
  if (text_at < call.inputs.size()) {
    const std::string* text = call.inputs[text_at].AsString();
    if (text != nullptr && !text->empty() && *text != "none") {
      name += "_" + *text;
    }
  }
  if (name == "elu_backward") {
    return EluBackward(call);
  }
  return name == "bitwise_not" && result == DType::kBool ? "logical_not" : name;
}

const TensorDesc* ElementwiseResult(const OpCall& call) {
  if (const TensorDesc* output = call.OutputTensor(0)) {
    return output;
  }
  return call.name.ends_with('_') ? call.InputTensor(0) : nullptr;
}

}  // namespace reprise
