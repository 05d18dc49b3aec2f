#include "kernels/host/torch_operators.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <variant>

#include "kernels/ops/views.h"

namespace reprise {
namespace {

constexpr const char* ArgumentsOf(TorchForm form) {
  switch (form) {
    case TorchForm::kProductInto:
      return "TTTSS";
    case TorchForm::kTwoTensors:
      return "TTS";
    default:
      return "TS";
  }
}

#define TORCH_OPERATOR(name, overload, arguments, results) \
  {name, overload, arguments, results, TorchForm::kDispatched},
#define TORCH_FUNCTION(name, function, form) \
  {name, function, ArgumentsOf(TorchForm::form), 1, TorchForm::form},
constexpr TorchOperator kTorchOperators[] = {
#include "kernels/host/torch_operators.def"
};
#undef TORCH_OPERATOR
#undef TORCH_FUNCTION

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
    case 'L':
      return AllOf(value.AsList(), IsTensor);
    case 'U':
      return AllOf(value.AsList(), [](const Value& v) { return IsIndex(v) || IsMissing(v); });
    case 'I':
    case 'B':
      return IsNumber(value) || AllOf(value.AsList(), IsNumber);
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

bool Fits(const TorchOperator& op, const TorchLibrary& library, const OpCall& call) {
  const bool arguments =
      WalkArguments(op, call.inputs, [](char kind, bool optional, const Value& value) {
        return (optional && IsMissing(value)) || IsA(kind, value);
      });
  if (!arguments) {
    return false;
  }
  const auto taken = [&](const TensorDesc* tensor) {
    return library.Word(tensor->dtype) && (tensor->device.empty() || tensor->device == "cpu");
  };
  const auto inputs = TensorsIn(call.inputs);
  const auto outputs = TensorsIn(call.outputs);
  if (!std::all_of(inputs.begin(), inputs.end(), taken) ||
      !std::all_of(outputs.begin(), outputs.end(), taken) || outputs.size() > op.results) {
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

auto TorchFunctionOf(const TorchLibrary& library, const TorchOperator& op) -> void (*)() {
  return op.form == TorchForm::kDispatched ? nullptr : library.Direct<void()>(op.overload);
}

const TorchOperator* FindTorchOperator(const TorchLibrary& library, const OpCall& call) {
  using Table = std::unordered_multimap<std::string_view, const TorchOperator*>;
  static const Table by_name = [] {
    Table table;
    for (const TorchOperator& op : kTorchOperators) {
      table.emplace(op.name, &op);
    }
    return table;
  }();
  const auto [begin, end] = by_name.equal_range(call.name);
  const auto it = std::find_if(
      begin, end, [&](const auto& entry) { return Fits(*entry.second, library, call); });
  return it == end ? nullptr : it->second;
}

}  // namespace reprise
