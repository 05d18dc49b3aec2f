// What a capture says about the memory of a device.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "core/result.h"
#include "et_schema/graph.h"

namespace reprise {

struct TracedMemory {
  std::int64_t peak_bytes = 0;
  std::size_t rank = 0;  // that has the highest peak
};

// The largest sum of storages that operations and transfers name, from first to last use; what is
// read before it is written is there all the time. Without what the capture does not show:
// workspaces, gaps of the allocator, parameters that no operation reads. Nothing: no operation has
// tensors with storages, or the capture did not say which tensors share one. Bad input: arguments
// that cannot be decoded.
[[nodiscard]] Result<std::optional<TracedMemory>> TracedMemoryOf(std::span<const Graph> ranks);

}  // namespace reprise
