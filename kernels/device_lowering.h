// What the kernels' LowerToDevice share: buffers of tensors, merged strides, launch sizes.
#pragma once

#include <array>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/kernel.h"

namespace reprise {

// The buffer of a tensor, if it holds all of the tensor's elements.
[[nodiscard]] Result<Buffer*> BufferOf(const TensorDesc& tensor, const LowerContext& context);

// " -DT=float32": picks MEM(T), LOAD(T) … of common.cl.
[[nodiscard]] std::string TypeOption(std::string_view macro, DType dtype);
// Environment error where common.cl lacks the dtype on this device (float64 needs fp64).
[[nodiscard]] Status CheckHasType(DType dtype, const DeviceInfo& device);
// Dtypes that kernels support at all: not complex, not float8, not unknown.
[[nodiscard]] bool IsKernelType(DType dtype);

// Operands that are walked together, in elements of each one's buffer. The same struct as in
// common.cl; pass it with StructArg.
struct IndexSpace {
  static constexpr int kMaxDims = 8;
  static constexpr int kMaxOperands = 4;
  std::int64_t count = 0;  // elements
  std::int64_t dims = 0;   // at least 1
  std::array<std::int64_t, kMaxDims> shape = {};
  std::array<std::int64_t, kMaxOperands> offset = {};
  std::array<std::array<std::int64_t, kMaxDims>, kMaxOperands> strides = {};

  // Every operand dense in the walking order.
  [[nodiscard]] bool IsLinear(int operands) const;
};

// The strides of `tensor` broadcast to `shape`: 0 along dimensions that it lacks or has once.
[[nodiscard]] std::vector<std::int64_t> BroadcastStrides(const TensorDesc& tensor,
                                                         const std::vector<std::int64_t>& shape);

// `shape` with the operands broadcast to it; neighbouring dimensions that all operands traverse
// alike are merged and dimensions of one element dropped. If `reorder`, dimensions are also sorted
// by the first operand's strides (for elementwise work, where the order is free). Nothing if more
// than kMaxDims remain or an operand does not broadcast.
[[nodiscard]] std::optional<IndexSpace> MakeIndexSpace(const std::vector<std::int64_t>& shape,
                                                       std::span<const TensorDesc* const> operands,
                                                       bool reorder = false);

// A trivially copyable struct as a kernel argument.
template <typename T>
[[nodiscard]] DeviceKernel::Arg StructArg(const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  StructBytes bytes(sizeof(T));
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}

// Global and local size for n items walked with FIRST/LAST/STEP of common.cl.
void SetItemsLaunch(DeviceKernel& kernel, std::int64_t items, const DeviceInfo& device);

}  // namespace reprise
