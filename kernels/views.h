// Views of recorded tensors, made without touching memory, and what values of arguments mean.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/kernel.h"

namespace reprise {

using Dims = std::vector<std::int64_t>;

[[nodiscard]] inline std::int64_t Rank(const TensorDesc& tensor) {
  return static_cast<std::int64_t>(tensor.shape.size());
}
[[nodiscard]] inline std::int64_t Count(const TensorDesc& tensor) {
  return ElementCount(tensor.shape);
}

// Usage error if a storage of so many bytes does not have all elements of the tensor.
[[nodiscard]] Status CheckHolds(const TensorDesc& tensor, std::int64_t storage_bytes);

// `dim` counted from the end if negative; nothing if a tensor of that rank has no such dimension. A
// scalar has one dimension here, as PyTorch's operators treat it.
[[nodiscard]] std::optional<std::int64_t> WrapDim(std::int64_t dim, std::int64_t rank);
// The extent of that dimension; 1 for a scalar.
[[nodiscard]] std::int64_t ExtentOf(const TensorDesc& tensor, std::int64_t dim);

// Extents multiplied: of the dimensions before `dim`, of `dim`, of those behind it.
struct AroundDim {
  std::int64_t outer = 1, extent = 1, inner = 1;
};
[[nodiscard]] AroundDim SplitAt(const TensorDesc& tensor, std::int64_t dim);

// Dimensions in another order; `order` names each once.
[[nodiscard]] TensorDesc Permuted(const TensorDesc& tensor, const Dims& order);
// `dim` moved to the end.
[[nodiscard]] TensorDesc WithLast(const TensorDesc& tensor, std::int64_t dim);
// Broadcast; nothing if the shapes do not allow it.
[[nodiscard]] std::optional<TensorDesc> Expanded(const TensorDesc& tensor, const Dims& shape);
// The first `extent` elements along `dim`.
[[nodiscard]] TensorDesc Narrowed(const TensorDesc& tensor, std::int64_t dim, std::int64_t extent);
// At least one dimension.
[[nodiscard]] TensorDesc AtLeast1D(const TensorDesc& tensor);
// Dimensions ordered by falling stride: dense in that order if the tensor is dense at all. What is
// done element by element may go in any order, the same for all operands of one shape and strides.
[[nodiscard]] Dims MemoryOrder(const TensorDesc& tensor);
// The shape that all broadcast to; nothing if they do not.
[[nodiscard]] std::optional<Dims> BroadcastShape(const std::vector<const TensorDesc*>& tensors);

[[nodiscard]] inline bool IsBool(const Value& value) {
  return std::holds_alternative<bool>(value.data);
}
[[nodiscard]] inline bool IsInt(const Value& value) {
  return std::holds_alternative<std::int64_t>(value.data);
}
// Bool, integer or floating.
[[nodiscard]] inline bool IsNumber(const Value& value) {
  return IsBool(value) || IsInt(value) || std::holds_alternative<double>(value.data);
}
[[nodiscard]] inline double NumberOr(const Value& value, double fallback) {
  return value.AsNumber<double>(fallback);
}
[[nodiscard]] inline bool TruthOr(const Value& value, bool fallback) {
  return IsNumber(value) ? value.AsNumber<std::int64_t>(0) != 0 : fallback;
}
// The i-th element of a bool[3] argument such as output_mask.
[[nodiscard]] bool MaskAt(const Value& mask, std::size_t i);

// Another view of the tensor's storage.
[[nodiscard]] TensorDesc ViewOf(const TensorDesc& tensor, std::vector<std::int64_t> shape,
                                std::vector<std::int64_t> strides, std::int64_t offset);
// `length` elements from `start` on along `dim`.
[[nodiscard]] TensorDesc NarrowedAt(const TensorDesc& tensor, std::size_t dim, std::int64_t start,
                                    std::int64_t length);

}  // namespace reprise
