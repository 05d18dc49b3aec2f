// Whole tensors as vectors in row-major order of their shape: the operands of References here.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernels/tensor_access.h"

namespace reprise {

using Doubles = std::vector<double>;
using Integers = std::vector<std::int64_t>;
using Bits = std::vector<std::int64_t>;  // elements as they are stored

[[nodiscard]] Result<Doubles> ReadDoubles(const TensorDesc& tensor, const HostBindings& memory);
[[nodiscard]] Result<Integers> ReadIntegers(const TensorDesc& tensor, const HostBindings& memory);
[[nodiscard]] Result<Bits> ReadBits(const TensorDesc& tensor, const HostBindings& memory);
[[nodiscard]] Status WriteDoubles(const TensorDesc& tensor, const HostBindings& memory,
                                  const Doubles& values);
[[nodiscard]] Status WriteIntegers(const TensorDesc& tensor, const HostBindings& memory,
                                   const Integers& values);
[[nodiscard]] Status WriteBits(const TensorDesc& tensor, const HostBindings& memory,
                               const Bits& values);
// Optional operands: `count` times `fallback` if there is none; nothing is written if there is
// none.
[[nodiscard]] Result<Doubles> ReadDoublesOr(const TensorDesc* tensor, const HostBindings& memory,
                                            std::int64_t count, double fallback);
[[nodiscard]] Status WriteDoublesIf(const TensorDesc* tensor, const HostBindings& memory,
                                    const Doubles& values);

// body(ReadDoubles, WriteDoubles) for floating dtypes, body(ReadIntegers, WriteIntegers) for
// others: integers stay exact.
template <typename Body>
[[nodiscard]] Status InKindOf(DType dtype, Body&& body) {
  return IsFloating(dtype) ? body(ReadDoubles, WriteDoubles) : body(ReadIntegers, WriteIntegers);
}

// in_range of rows.cl: negative indices count from the end, others out of range are clamped.
[[nodiscard]] inline std::int64_t InRange(std::int64_t index, std::int64_t extent) {
  return std::clamp<std::int64_t>(index < 0 ? index + extent : index, 0, extent - 1);
}

}  // namespace reprise
