// How many floating-point values of a tensor are none that a training has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/value.h"

namespace reprise {

// Denormal: smaller in magnitude than the smallest normal number of the tensor's own type, and not
// zero (IEEE 754-2019, 3.4). Processors may compute many times slower with them.
struct ValueCounts {
  std::int64_t values = 0;
  std::int64_t denormals = 0;
  std::int64_t infinities = 0;
  std::int64_t nans = 0;

  ValueCounts& operator+=(const ValueCounts& other);
  bool operator==(const ValueCounts&) const = default;
};

// More denormals than one in so many values are none of a training's.
inline constexpr std::int64_t kValuesPerDenormal = 10'000;
[[nodiscard]] inline bool HasOddValues(const ValueCounts& counts) {
  return counts.infinities > 0 || counts.nans > 0 ||
         counts.denormals > counts.values / kValuesPerDenormal;
}

// Of the elements that `tensor` addresses, each once. `data` is the tensor's first element and has
// ExtentElements(tensor) of them. Nothing is counted of integers, complex and 8-bit types.
[[nodiscard]] ValueCounts CountValues(const TensorDesc& tensor, std::span<const std::byte> data);

}  // namespace reprise
