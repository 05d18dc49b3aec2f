#include "core/costs/call_meaning.h"

#include <algorithm>

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

// 1 + 2 + … + n.
double SumTo(double n) { return n > 0 ? n * (n + 1) / 2 : 0; }

}  // namespace

std::string FormulaOf(const OpCall& call, DType result) {
  const ArgumentPlaces& places = ArgumentPlaces::Of(call.name);
  std::string name(places.Word("op"));
  const auto text_at = static_cast<std::size_t>(places.At("text"));  // -1: beyond every call
  const std::string* text = call.Argument(text_at).AsString();
  if (text != nullptr && !text->empty() && *text != "none") {
    name += "_" + *text;
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

std::size_t SortDimArgument(const OpCall& call) {
  const bool dim_first = std::holds_alternative<std::int64_t>(call.Argument(1).data);
  return call.name != "aten::topk" && dim_first ? 1 : 2;
}

std::optional<std::size_t> SortDim(const OpCall& call) {
  const TensorDesc* self = call.InputTensor(0);
  if (self == nullptr) {
    return std::nullopt;
  }
  const auto rank = std::max<std::int64_t>(static_cast<std::int64_t>(self->shape.size()), 1);
  std::int64_t dim = call.Argument(SortDimArgument(call)).AsNumber<std::int64_t>(-1);
  dim += dim < 0 ? rank : 0;
  return dim >= 0 && dim < rank ? std::optional(static_cast<std::size_t>(dim)) : std::nullopt;
}

// The sum over all queries of what is above 0, less what is above the number of keys.
double CausalPairs(double queries, double keys, double shift) {
  return SumTo(queries + shift) - SumTo(shift) - SumTo(queries + shift - keys) +
         SumTo(shift - keys);
}

std::optional<std::int64_t> AttentionWindow(const OpCall& call) {
  const ArgumentPlaces& places = ArgumentPlaces::Of(call.name);
  const double left = places.Number(call, "left", -1);
  const double right = places.Number(call, "right", -1);
  if (left < 0 && right < 0) {
    return 0;
  }
  const bool causal = places.Number(call, "causal", 0) != 0;
  if (!causal || right > 0) {
    return std::nullopt;
  }
  return left < 0 ? 0 : static_cast<std::int64_t>(left) + 1;
}

namespace {

// Tokens [first, first + count) of (tokens, heads, features), as a batch of one; of a logsumexp
// (heads, tokens).
TensorDesc SequenceOf(const TensorDesc& packed, std::int64_t first, std::int64_t count) {
  TensorDesc one = packed;
  const std::size_t dim = packed.shape.size() == 3 ? 0 : 1;
  one.shape[dim] = count;
  one.offset += first * packed.strides[dim];
  one.elements = ElementCount(one.shape);
  one.shape.insert(one.shape.begin(), 1);
  one.strides.insert(one.strides.begin(), packed.shape[dim] * packed.strides[dim]);
  return one;
}

ValueList SequencesOf(const ValueList& values, std::int64_t first, std::int64_t count) {
  ValueList of = values;
  for (Value& value : of) {
    const TensorDesc* const tensor = value.AsTensor();
    if (tensor != nullptr && (tensor->shape.size() == 2 || tensor->shape.size() == 3)) {
      value = Value{SequenceOf(*tensor, first, count)};
    }
  }
  return of;
}

}  // namespace

std::vector<OpCall> PackedSequences(const OpCall& call) {
  const ArgumentPlaces& places = ArgumentPlaces::Of(call.name);
  const TensorDesc* const q = places.Tensor(call, "q");
  const int at = places.At("absent");  // of the queries' starts
  if (!places.Has("tokens_first") || q == nullptr || q->shape.size() != 3 || at < 0) {
    return {};
  }
  const std::vector<std::int64_t> starts = places.Ints(call, "absent");
  if (starts.size() < 2 || starts.front() != 0 || starts.back() != q->shape[0] ||
      !std::ranges::is_sorted(starts)) {
    return {};
  }
  std::vector<OpCall> sequences;
  for (std::size_t i = 0; i + 1 < starts.size(); ++i) {
    const std::int64_t count = starts[i + 1] - starts[i];
    OpCall one = {call.name, SequencesOf(call.inputs, starts[i], count),
                  SequencesOf(call.outputs, starts[i], count)};
    for (std::size_t place : {static_cast<std::size_t>(at), static_cast<std::size_t>(at) + 1}) {
      one.inputs[place] = Value{NoneValue{}};
    }
    sequences.push_back(std::move(one));
  }
  return sequences;
}

}  // namespace reprise
