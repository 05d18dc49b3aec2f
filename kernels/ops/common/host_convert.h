// Converts elements of any dtype to and from the host backend's compute types.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/dtype.h"
#include "core/value.h"

namespace reprise {

// out[k] = element `at` + k × `stride` of the storage at `data`, as LoadDouble and LoadInt convert;
// C: float, double or std::int64_t.
template <typename C>
void LoadRun(const std::byte* data, DType dtype, std::int64_t at, std::int64_t stride, C* out,
             std::int64_t n);
// The reverse, as StoreDouble and StoreInt do.
template <typename C>
void StoreRun(const C* values, std::int64_t n, std::byte* data, DType dtype, std::int64_t at,
              std::int64_t stride);

// All elements of a tensor whose storage is at `data`, in row-major order of its shape.
template <typename C>
void LoadAll(const std::byte* data, const TensorDesc& tensor, C* out);
template <typename C>
void StoreAll(const C* values, std::byte* data, const TensorDesc& tensor);

}  // namespace reprise
