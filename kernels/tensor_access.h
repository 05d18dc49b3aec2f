// Tensors in host memory, element by element: what References are written with. Plain and
// complete rather than fast; a RunOnHost whose speed matters has its own loops.
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/kernel.h"

namespace reprise {

[[nodiscard]] float HalfToFloat(std::uint16_t bits);
[[nodiscard]] std::uint16_t FloatToHalf(float value);  // to nearest, ties to even
[[nodiscard]] inline float BFloat16ToFloat(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}
[[nodiscard]] std::uint16_t FloatToBFloat16(float value);  // to nearest, ties to even

// The nearest integer that there is towards zero; 0 for NaN.
[[nodiscard]] std::int64_t SaturateToInt(double value);

// Element i of memory that holds elements of `dtype`. Integers convert as C++ does, floating values
// that no integer holds saturate, anything but zero is true.
[[nodiscard]] double LoadDouble(const std::byte* data, DType dtype, std::int64_t i);
[[nodiscard]] std::int64_t LoadInt(const std::byte* data, DType dtype, std::int64_t i);
void StoreDouble(std::byte* data, DType dtype, std::int64_t i, double value);
void StoreInt(std::byte* data, DType dtype, std::int64_t i, std::int64_t value);

// A tensor bound to its memory. Offsets count elements from the storage's start.
class HostTensor {
 public:
  // Fails if the storage is missing or smaller than the tensor.
  [[nodiscard]] static Result<HostTensor> Bind(const TensorDesc& desc, const HostBindings& memory);

  [[nodiscard]] const TensorDesc& desc() const { return *desc_; }
  [[nodiscard]] DType dtype() const { return desc_->dtype; }
  [[nodiscard]] std::int64_t count() const { return ElementCount(desc_->shape); }
  [[nodiscard]] std::byte* data() const { return data_; }
  // The first element, and as T*, for tensors whose dtype is T's.
  [[nodiscard]] std::byte* first() const { return data_ + desc_->offset * SizeOf(dtype()); }
  template <typename T>
  [[nodiscard]] T* As() const {
    return reinterpret_cast<T*>(data_) + desc_->offset;
  }

  // By offset from the storage's start (OffsetOf).
  [[nodiscard]] double Get(std::int64_t offset) const { return LoadDouble(data_, dtype(), offset); }
  [[nodiscard]] std::int64_t GetInt(std::int64_t offset) const {
    return LoadInt(data_, dtype(), offset);
  }
  void Set(std::int64_t offset, double value) const { StoreDouble(data_, dtype(), offset, value); }
  void SetInt(std::int64_t offset, std::int64_t value) const {
    StoreInt(data_, dtype(), offset, value);
  }
  // Of an index, one number per dimension.
  [[nodiscard]] std::int64_t OffsetOf(std::span<const std::int64_t> index) const;
  // Of the i-th element in row-major order of the shape.
  [[nodiscard]] std::int64_t OffsetOfElement(std::int64_t i) const;

 private:
  HostTensor(const TensorDesc& desc, std::byte* data) : desc_(&desc), data_(data) {}
  const TensorDesc* desc_;
  std::byte* data_;
};

}  // namespace reprise
