// What a storage that existed before the trace starts as.
#pragma once

#include <cstddef>
#include <vector>

#include "replayer/memory/memory_plan.h"

namespace reprise {

// `life.bytes` of them: floating-point values in life.floats, one alone life.float_number; integers
// from life.index_low to below life.index_bound, in life.order; one alone life.number. A fixed
// function of incarnation and position: every run and every iteration starts alike.
[[nodiscard]] std::vector<std::byte> InitialBytes(const StorageLife& life);

}  // namespace reprise
