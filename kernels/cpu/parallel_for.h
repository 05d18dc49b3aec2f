// Parallel-for of the host backend.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "core/result.h"

namespace reprise {

// Calls body(begin, end) for chunks that cover [0, count) once, half of `grain_size` items or more
// each, on the cores that this process may use; returns when all chunks are done. The calling
// thread takes chunks like any other, so that it need not wait for a core that another rank uses.
// All items are one chunk where there is one core, and where there are fewer than two grains.
void ParallelFor(std::int64_t count, std::int64_t grain_size,
                 const std::function<void(std::int64_t begin, std::int64_t end)>& body);

// ParallelFor with a body that can fail. All chunks run; returns the error of one that failed.
[[nodiscard]] Status TryParallelFor(
    std::int64_t count, std::int64_t grain_size,
    const std::function<Status(std::int64_t begin, std::int64_t end)>& body);

// How many cores ParallelFor uses.
[[nodiscard]] std::int64_t ParallelCores();

// The grain size of items that move `bytes` each: about 30 us of work for one core; to wake another
// takes 5 us.
[[nodiscard]] inline std::int64_t GrainSize(double bytes) {
  constexpr double kBytes = 256 << 10;
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(kBytes / std::max(bytes, 1.0)));
}

// memcpy; large ones by non-temporal stores (non_temporal_store.h).
void ParallelCopy(std::byte* to, const std::byte* from, std::int64_t bytes);

}  // namespace reprise
