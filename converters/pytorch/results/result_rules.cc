#include "converters/pytorch/results/result_rules.h"

#include <utility>

namespace reprise::pytorch {

const TensorDesc* CallInputs::Tensor(std::size_t i) const {
  const TensorDesc* tensor = i < size() ? inputs[i].AsTensor() : nullptr;
  return tensor != nullptr && tensor->dtype != DType::kUnknown &&
                 tensor->strides.size() == tensor->shape.size()
             ? tensor
             : nullptr;
}

const TensorDesc* CallInputs::ContiguousTensor(std::size_t i) const {
  const TensorDesc* tensor = Tensor(i);
  return tensor != nullptr && IsContiguous(*tensor) ? tensor : nullptr;
}

bool CallInputs::Absent(std::size_t i) const {
  if (i >= size() || inputs[i].IsNone()) {
    return true;
  }
  const TensorDesc* tensor = inputs[i].AsTensor();
  return tensor != nullptr && tensor->dtype == DType::kUnknown;
}

bool CallInputs::IsNumber(std::size_t i) const {
  return i < size() && (std::holds_alternative<double>(inputs[i].data) ||
                        std::holds_alternative<std::int64_t>(inputs[i].data) ||
                        std::holds_alternative<bool>(inputs[i].data));
}

std::optional<std::int64_t> CallInputs::Integer(std::size_t i) const {
  const auto* number = i < size() ? std::get_if<std::int64_t>(&inputs[i].data) : nullptr;
  return number == nullptr ? std::nullopt : std::optional(*number);
}

std::optional<bool> CallInputs::Flag(std::size_t i) const {
  const auto* flag = i < size() ? std::get_if<bool>(&inputs[i].data) : nullptr;
  return flag == nullptr ? std::nullopt : std::optional(*flag);
}

std::optional<std::vector<std::int64_t>> CallInputs::Integers(std::size_t i) const {
  if (const auto one = Integer(i)) {
    return std::vector{*one};
  }
  const ValueList* list = i < size() ? inputs[i].AsList() : nullptr;
  if (list == nullptr) {
    return std::nullopt;
  }
  std::vector<std::int64_t> out;
  for (const Value& value : *list) {
    if (!std::holds_alternative<std::int64_t>(value.data) &&
        !std::holds_alternative<bool>(value.data)) {
      return std::nullopt;
    }
    out.push_back(value.AsNumber<std::int64_t>(0));
  }
  return out;
}

std::optional<std::vector<std::int64_t>> CallInputs::Integers(std::size_t i,
                                                              std::size_t count) const {
  auto out = Integers(i);
  if (out && out->size() == 1) {
    out->resize(count, out->front());
  }
  return out && out->size() == count ? std::move(out) : std::nullopt;
}

Results One(const CallInputs& in, std::size_t arity, std::optional<TensorDesc> result) {
  if (result && in.size() == arity) {
    return ValueList{{std::move(*result)}};
  }
  const TensorDesc* out = result && in.size() == arity + 1 ? in.Tensor(arity) : nullptr;
  return out != nullptr && out->shape == result->shape ? Results(ValueList{{*out}}) : std::nullopt;
}

Results Several(std::initializer_list<std::optional<TensorDesc>> results) {
  ValueList out;
  for (const std::optional<TensorDesc>& result : results) {
    out.push_back(result ? Value{*result} : Value{});
  }
  return out;
}

Results Masked(const std::optional<std::vector<std::int64_t>>& mask,
               std::initializer_list<std::optional<TensorDesc>> results) {
  if (!mask || mask->size() != results.size()) {
    return std::nullopt;
  }
  ValueList out(results.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::optional<TensorDesc>& result = results.begin()[i];
    if ((*mask)[i] != 0 && !result) {
      return std::nullopt;
    }
    out[i] = (*mask)[i] != 0 ? Value{*result} : Value{};
  }
  return out;
}

}  // namespace reprise::pytorch
