#include "core/value.h"

namespace reprise {
namespace {

const TensorDesc* DefinedTensor(const ValueList& values, std::size_t i) {
  if (i >= values.size()) {
    return nullptr;
  }
  const TensorDesc* tensor = values[i].AsTensor();
  return tensor != nullptr && tensor->IsDefined() ? tensor : nullptr;
}

void Collect(const ValueList& values, std::vector<const TensorDesc*>& out) {
  for (const Value& value : values) {
    if (const TensorDesc* tensor = value.AsTensor(); tensor != nullptr && tensor->IsDefined()) {
      out.push_back(tensor);
    } else if (const ValueList* list = value.AsList()) {
      Collect(*list, out);
    }
  }
}

}  // namespace

const TensorDesc* OpCall::InputTensor(std::size_t i) const { return DefinedTensor(inputs, i); }
const TensorDesc* OpCall::OutputTensor(std::size_t i) const { return DefinedTensor(outputs, i); }

const Value& OpCall::Argument(std::size_t i) const {
  static const Value none;
  return i < inputs.size() ? inputs[i] : none;
}

std::vector<const TensorDesc*> OpCall::InputTensors(std::size_t i) const {
  const ValueList* list = Argument(i).AsList();
  return list == nullptr ? std::vector<const TensorDesc*>() : TensorsIn(*list);
}

std::vector<std::int64_t> OpCall::InputInts(std::size_t i) const {
  std::vector<std::int64_t> out;
  if (const ValueList* list = Argument(i).AsList()) {
    for (const Value& value : *list) {
      out.push_back(value.AsNumber<std::int64_t>(0));
    }
  } else if (const auto* one = std::get_if<std::int64_t>(&Argument(i).data)) {
    out.push_back(*one);
  }
  return out;
}

std::vector<const TensorDesc*> TensorsIn(const ValueList& values) {
  std::vector<const TensorDesc*> out;
  Collect(values, out);
  return out;
}

std::vector<std::int64_t> ContiguousStrides(const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> strides(shape.size());
  std::int64_t stride = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= shape[i] > 0 ? shape[i] : 1;
  }
  return strides;
}

DType ElementType(const OpCall& call) {
  DType first = DType::kUnknown;
  for (const ValueList* values : {&call.inputs, &call.outputs}) {
    for (const TensorDesc* tensor : TensorsIn(*values)) {
      if (IsFloating(tensor->dtype)) {
        return tensor->dtype;
      }
      first = first == DType::kUnknown ? tensor->dtype : first;
    }
  }
  return first;
}

std::int64_t ElementCount(const std::vector<std::int64_t>& shape) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) {
    count *= extent;
  }
  return count;
}

bool IsContiguous(const TensorDesc& tensor) {
  std::int64_t expected = 1;
  for (std::size_t i = tensor.shape.size(); i-- > 0;) {
    if (tensor.shape[i] != 1 && tensor.strides[i] != expected) {
      return false;
    }
    expected *= tensor.shape[i];
  }
  return true;
}

std::int64_t ExtentElements(const TensorDesc& tensor) {
  std::int64_t last = 0;
  for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
    if (tensor.shape[i] == 0) {
      return 0;
    }
    last += (tensor.shape[i] - 1) * tensor.strides[i];
  }
  return last + 1;
}

}  // namespace reprise
