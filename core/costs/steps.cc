#include "core/costs/steps.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace reprise {
namespace {

constexpr std::string_view kPrefix = "aten::_foreach_";

// Argument `value` of the i-th of n calls: lists give their i-th element.
std::optional<Value> ItemOf(const Value& value, std::size_t i, std::size_t n) {
  const ValueList* list = value.AsList();
  if (list == nullptr) {
    return value;
  }
  return list->size() == n ? std::optional((*list)[i]) : std::nullopt;
}

// The i-th number of a tensor that holds one for each call (addcmul's and addcdiv's factors).
Value NumberAt(const TensorDesc& numbers, std::size_t i) {
  TensorDesc one = numbers;
  one.offset += static_cast<std::int64_t>(i) * numbers.strides[0];
  one.elements = 1;
  one.shape.clear();
  one.strides.clear();
  return {one};
}

std::optional<OpCall> ExpandNorm(const OpCall& call, const Value& self, const TensorDesc* output) {
  if (output == nullptr) {
    return std::nullopt;
  }
  const Value order = call.Argument(1).IsNone() ? Value{2.0} : call.Argument(1);
  return OpCall{
      "aten::linalg_vector_norm", {self, order, Value{}, Value{false}, Value{}}, {{*output}}};
}

// The calls that `call` stands for, in order; empty if it is malformed.
std::vector<OpCall> ExpandForeach(const OpCall& call) {
  const ValueList* selves = call.Argument(0).AsList();
  if (selves == nullptr) {
    return {};
  }
  // In place is out of place with self for the result: not every operator has both forms.
  std::string name = "aten::" + call.name.substr(kPrefix.size());
  const bool in_place = name.ends_with('_');
  if (in_place) {
    name.pop_back();
  }
  const auto outputs = TensorsIn(call.outputs);
  std::vector<OpCall> calls;
  for (std::size_t i = 0; i < selves->size(); ++i) {
    const Value& self = (*selves)[i];
    const TensorDesc* output = in_place             ? self.AsTensor()
                               : i < outputs.size() ? outputs[i]
                                                    : nullptr;
    if (self.AsTensor() == nullptr || output == nullptr) {
      return {};
    }
    if (name == "aten::norm") {
      calls.push_back(*ExpandNorm(call, self, output));
      continue;
    }
    OpCall one{name, {self}, {{*output}}};
    for (std::size_t k = 1; k < call.inputs.size(); ++k) {
      const TensorDesc* numbers = call.InputTensor(k);
      if (k == 3 && numbers != nullptr && numbers->shape.size() == 1 &&
          numbers->shape[0] == static_cast<std::int64_t>(selves->size())) {
        one.inputs.push_back(NumberAt(*numbers, i));
        continue;
      }
      std::optional<Value> item = ItemOf(call.inputs[k], i, selves->size());
      if (!item) {
        return {};
      }
      one.inputs.push_back(std::move(*item));
    }
    calls.push_back(std::move(one));
  }
  return calls;
}

}  // namespace

// max(self, other) is maximum(self, other).
std::vector<OpCall> ForEachSteps(const OpCall& call) {
  if (call.name.starts_with(kPrefix)) {
    return ExpandForeach(call);
  }
  const bool larger = call.name == "aten::max";
  if ((!larger && call.name != "aten::min") || call.InputTensor(1) == nullptr ||
      call.outputs.size() != 1) {
    return {};
  }
  OpCall one = call;
  one.name = larger ? "aten::maximum" : "aten::minimum";
  return {std::move(one)};
}

// _addmm_activation(self, mat1, mat2, *, beta=1, alpha=1, use_gelu=False). CUDA's GELU here is the
// approximation by tanh, which its matrix library has.
std::array<OpCall, 2> ActivatedProductSteps(const OpCall& call) {
  OpCall product{"aten::addmm", call.inputs, call.outputs};
  const Value out = call.outputs.empty() ? Value{} : call.outputs[0];
  OpCall activation{"aten::relu_", {out}, {out}};
  if (product.inputs.size() > 5) {
    product.inputs.resize(5);
  }
  if (call.Argument(5).AsNumber<double>(0) != 0) {
    const TensorDesc* tensor = out.AsTensor();
    const bool cuda = tensor != nullptr && tensor->device.starts_with("cuda");
    activation.name = "aten::gelu_";
    activation.inputs.push_back(Value{std::string(cuda ? "tanh" : "none")});
  }
  return {std::move(product), std::move(activation)};
}

}  // namespace reprise
