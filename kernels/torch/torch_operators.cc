#include "kernels/torch/torch_operators.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "core/text.h"
#include "kernels/views.h"

namespace reprise {
namespace {

// By the arguments that a function takes.
std::optional<TorchForm> FormOf(std::string_view name, std::string_view arguments) {
  if (arguments == "TTTSS") {
    return TorchForm::kProductInto;
  }
  if (arguments == "TTS") {
    return TorchForm::kTwoTensors;
  }
  if (arguments == "TS") {
    return name.ends_with('_') ? TorchForm::kNumberInPlace : TorchForm::kOneTensor;
  }
  return std::nullopt;
}

std::optional<TorchOperator> ParseOverload(std::string_view name, std::string_view word) {
  const std::size_t colon = word.find(':');
  const std::string_view device = word.substr(0, colon == word.npos ? 0 : colon);
  word.remove_prefix(colon == word.npos ? 0 : colon + 1);
  const std::size_t open = word.find('(');
  const std::size_t close = word.find(')');
  TorchOperator op{.name = std::string(name),
                   .overload = std::string(word.substr(0, open)),
                   .device = std::string(device),
                   .arguments = std::string(word.substr(open + 1, close - open - 1)),
                   .results = std::string(word.substr(close + 1))};
  if (const int tensors = op.results.front() - '0'; tensors >= 0 && tensors <= 9) {
    op.results.assign(static_cast<std::size_t>(tensors), 'T');
  }
  if (op.overload.starts_with('!')) {
    const auto form = FormOf(name, op.arguments);
    op.form = form.value_or(TorchForm::kDispatched);
    op.overload.erase(0, 1);
    return form ? std::optional(std::move(op)) : std::nullopt;
  }
  op.overload.erase(0, 1);
  return op;
}

bool IsTensor(const Value& value) {
  const TensorDesc* tensor = value.AsTensor();
  return tensor != nullptr && tensor->IsDefined();
}

// No mask: what it selects would have another size than what was recorded.
bool IsIndex(const Value& value) {
  return IsTensor(value) &&
         (value.AsTensor()->dtype == DType::kInt64 || value.AsTensor()->dtype == DType::kInt32);
}

template <typename Test>
bool AllOf(const ValueList* list, Test&& test) {
  return list != nullptr && std::all_of(list->begin(), list->end(), test);
}

bool IsA(char kind, const Value& value) {
  switch (kind) {
    case 'T':
      return IsTensor(value);
    case 'N':
      return IsTensor(value) || IsMissing(value);
    case 'L':
      return AllOf(value.AsList(), IsTensor);
    case 'U':
      return AllOf(value.AsList(), [](const Value& v) { return IsIndex(v) || IsMissing(v); });
    case 'I':
    case 'B':
      return IsNumber(value) || AllOf(value.AsList(), [](const Value& v) { return IsNumber(v); });
    case 's':
      return value.AsString() != nullptr;
    case 'g':
      return IsMissing(value);
    case 'd':
      return FromScalarType(value.AsNumber<std::int64_t>(-1)) != DType::kUnknown;
    default:
      return IsNumber(value);
  }
}

// A tensor of the recorded program, whose device may have another number here. What a GPU's program
// has on the CPU lies on the GPU here, as everything does.
bool IsOn(const TorchDevice& device, std::string_view recorded) {
  return recorded.empty() || device.kind != TorchDevice().kind || recorded == device.kind;
}

bool Fits(const TorchOperator& op, const TorchLibrary& library, const OpCall& call) {
  if (!op.device.empty() && op.device != library.device().kind) {
    return false;
  }
  const bool arguments =
      WalkArguments(op, call.inputs, [](char kind, bool optional, const Value& value) {
        return (optional && IsMissing(value)) || IsA(kind, value);
      });
  if (!arguments) {
    return false;
  }
  const auto taken = [&](const TensorDesc* tensor) {
    return library.Word(tensor->dtype) && IsOn(library.device(), tensor->device);
  };
  const auto outputs = TensorsIn(call.outputs);
  if (!std::ranges::all_of(TensorsIn(call.inputs), taken) || !std::ranges::all_of(outputs, taken) ||
      std::ssize(outputs) > std::ranges::count(op.results, 'T')) {
    return false;
  }
  if (op.form == TorchForm::kDispatched) {
    return true;
  }
  // A double that scales integers would make floating numbers of them.
  const TensorDesc* result = call.OutputTensor(0);
  return result != nullptr && IsFloating(result->dtype) && TorchFunctionOf(library, op) != nullptr;
}

}  // namespace

std::optional<std::vector<TorchOperator>> ParseTorchSignature(std::string_view name,
                                                              TorchSignature signature) {
  std::vector<TorchOperator> operators;
  if (signature.text.empty()) {
    return operators;
  }
  for (const std::string_view word : SplitText(signature.text, ' ')) {
    auto op = ParseOverload(name, word);
    if (!op) {
      return std::nullopt;
    }
    operators.push_back(std::move(*op));
  }
  return operators;
}

auto TorchFunctionOf(const TorchLibrary& library, const TorchOperator& op) -> void (*)() {
  return op.form == TorchForm::kDispatched ? nullptr : library.Direct<void()>(op.overload.c_str());
}

const TorchOperator* FindTorchOperator(const TorchLibrary& library, const OpCall& call) {
  static const auto table = [] {
    std::unordered_map<std::string_view, std::vector<TorchOperator>> by_name;
    for (const OperatorRow& row : OperatorRows()) {
      by_name.emplace(
          row.name,
          ParseTorchSignature(row.name, row.signature).value_or(std::vector<TorchOperator>()));
    }
    return by_name;
  }();
  const auto it = table.find(call.name);
  if (it == table.end()) {
    return nullptr;
  }
  const auto op = std::ranges::find_if(
      it->second, [&](const TorchOperator& one) { return Fits(one, library, call); });
  return op == it->second.end() ? nullptr : &*op;
}

}  // namespace reprise
