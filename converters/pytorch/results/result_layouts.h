// PyTorch's rules for what several operators share: broadcasting, type promotion, memory layout.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/value.h"

namespace reprise::pytorch {

using Shape = std::vector<std::int64_t>;

// Of all of them together; nothing if they don't fit.
[[nodiscard]] std::optional<Shape> BroadcastShape(std::span<const TensorDesc* const> tensors);

// torch.result_type of tensors and numbers (others are skipped). Nothing if it depends on what a
// capture hides: the default type, or whether a tensor without dimensions was a Python number.
[[nodiscard]] std::optional<DType> PromotedType(std::span<const Value* const> operands);

// Each element in a place of its own and no place left over, in whatever order of dimensions.
[[nodiscard]] bool IsDense(const TensorDesc& tensor);
// What Tensor::suggest_memory_format takes for channels-last (four dimensions).
[[nodiscard]] bool LooksChannelsLast(const TensorDesc& tensor);
[[nodiscard]] Shape ChannelsLastStrides(const Shape& shape);

// New tensors on the device of `like`.
[[nodiscard]] TensorDesc Contiguous(const TensorDesc& like, DType dtype, Shape shape);
// The same dtype and shape as `like`.
[[nodiscard]] TensorDesc Contiguous(const TensorDesc& like);
[[nodiscard]] TensorDesc ChannelsLast(const TensorDesc& like, DType dtype, Shape shape);
// Channels-last if `like` looks so, else contiguous.
[[nodiscard]] TensorDesc Suggested(const TensorDesc& like, DType dtype, Shape shape);
// What TensorIterator allocates for operands that broadcast to `shape`: their order of dimensions.
[[nodiscard]] TensorDesc Iterated(std::span<const TensorDesc* const> operands, DType dtype,
                                  const Shape& shape);
// empty_like(tensor): its strides if it is dense, else its order of dimensions.
[[nodiscard]] TensorDesc Like(const TensorDesc& tensor, DType dtype);

// From the end if negative; nothing if there is no such dimension.
[[nodiscard]] std::optional<std::size_t> Dimension(std::int64_t dim, std::size_t rank);
// Nothing if the number or the tensor is absent, or the tensor has no such dimension.
[[nodiscard]] std::optional<std::size_t> Dimension(std::optional<std::int64_t> dim,
                                                   const TensorDesc* tensor);
// Whether both tensors are there and have the same dtype and shape.
[[nodiscard]] bool Alike(const TensorDesc* a, const TensorDesc* b);

// The type in which GPUs keep statistics: float32 for narrower ones.
[[nodiscard]] DType AccumulateType(DType dtype);

}  // namespace reprise::pytorch
