// Converts elements of any dtype to and from the host backend's compute types, a run at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

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

// Calls body(first offset, stride, n) for runs along the last dimension, in row-major order.
template <typename Body>
void ForEachRun(const TensorDesc& tensor, Body&& body) {
  const std::size_t rank = tensor.shape.size();
  const std::int64_t n = rank == 0 ? 1 : tensor.shape.back();
  const std::int64_t stride = rank == 0 ? 1 : tensor.strides.back();
  const std::int64_t count = ElementCount(tensor.shape);
  std::vector<std::int64_t> index(rank, 0);
  std::int64_t at = tensor.offset;
  for (std::int64_t done = 0; done < count; done += n) {
    body(at, stride, n);
    for (std::size_t d = rank < 2 ? 0 : rank - 1; d-- > 0;) {
      at += tensor.strides[d];
      if (++index[d] < tensor.shape[d]) {
        break;
      }
      at -= tensor.strides[d] * tensor.shape[d];
      index[d] = 0;
    }
  }
}

}  // namespace reprise
