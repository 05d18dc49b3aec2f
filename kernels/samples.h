// What Samples() are made with: calls on small tensors, numbered storages.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/value.h"
#include "kernels/views.h"

namespace reprise::samples {

// Tensors of one call; each Tensor() is a storage of its own, Of() a view of an earlier one.
class SampleTensors {
 public:
  [[nodiscard]] TensorDesc Tensor(DType dtype, std::vector<std::int64_t> shape) {
    std::vector<std::int64_t> strides = ContiguousStrides(shape);
    return Strided(dtype, std::move(shape), std::move(strides));
  }
  [[nodiscard]] TensorDesc Strided(DType dtype, std::vector<std::int64_t> shape,
                                   std::vector<std::int64_t> strides, std::int64_t offset = 0) {
    TensorDesc tensor;
    tensor.incarnation = next_++;
    tensor.tensor_id = tensor.incarnation + 1;
    tensor.storage_id = tensor.incarnation + 1;
    tensor.offset = offset;
    tensor.dtype = dtype;
    tensor.elements = ElementCount(shape);
    tensor.shape = std::move(shape);
    tensor.strides = std::move(strides);
    tensor.device = "cpu";
    return tensor;
  }
  // Another view of `tensor`'s storage.
  [[nodiscard]] static TensorDesc Of(const TensorDesc& tensor, std::vector<std::int64_t> shape,
                                     std::vector<std::int64_t> strides, std::int64_t offset) {
    return ViewOf(tensor, std::move(shape), std::move(strides), offset);
  }

 private:
  std::int64_t next_ = 0;
};

// Shorter than Value{…} with its nested braces.
[[nodiscard]] inline Value Int(std::int64_t value) { return Value{value}; }
[[nodiscard]] inline Value Double(double value) { return Value{value}; }
[[nodiscard]] inline Value Bool(bool value) { return Value{value}; }
[[nodiscard]] inline Value None() { return Value{NoneValue{}}; }
[[nodiscard]] inline Value Text(std::string value) { return Value{std::move(value)}; }
[[nodiscard]] inline Value Ints(const std::vector<std::int64_t>& values) {
  ValueList list;
  for (const std::int64_t value : values) {
    list.push_back(Int(value));
  }
  return Value{std::move(list)};
}
[[nodiscard]] inline Value Tensors(const std::vector<TensorDesc>& tensors) {
  ValueList list;
  for (const TensorDesc& tensor : tensors) {
    list.push_back(Value{tensor});
  }
  return Value{std::move(list)};
}

}  // namespace reprise::samples
