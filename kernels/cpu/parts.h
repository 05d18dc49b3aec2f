// Work of the host backend on several cores.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace reprise {

// Calls body(begin, end) for parts of [0, count) that cover it once, `grain` or more each, on the
// cores that this process may use; returns when all is done. The calling thread takes parts like
// any other, so that nobody waits for a core that another rank has. At once and in one part where
// there is one core, where another thread is at it already, and where there is less than two
// grains.
void InParts(std::int64_t count, std::int64_t grain,
             const std::function<void(std::int64_t begin, std::int64_t end)>& body);

// The cores that InParts shares work among.
[[nodiscard]] std::int64_t PartCores();

// A grain of items that move `bytes` each: some 30 us of one core, against 5 us to wake another.
[[nodiscard]] inline std::int64_t GrainOf(double bytes) {
  constexpr double kBytes = 256 << 10;
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(kBytes / std::max(bytes, 1.0)));
}

// memcpy; large ones by non-temporal stores (result_stream.h).
void CopyInParts(std::byte* to, const std::byte* from, std::int64_t bytes);

}  // namespace reprise
