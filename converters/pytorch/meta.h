// rank<N>.meta.json: what the capture script knew.
#pragma once

#include <cstdint>
#include <string>

#include "core/result.h"

namespace reprise::pytorch {

// Median of `step_seconds` over the steps not in `traced_steps`, without the first two (warm-up),
// in nanoseconds. -1 if the file lacks them or no step is left.
[[nodiscard]] Result<std::int64_t> ReadUntracedStep(const std::string& path);

}  // namespace reprise::pytorch
