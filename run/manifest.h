// manifest.json read back; WriteManifest is in run/run.h.
#pragma once

#include <string>

#include "run/run.h"

namespace reprise {

// More ranks than this in a file are damage, not a run.
inline constexpr std::int32_t kMaxRanks = 1'000'000;

// A missing key keeps its default; a wrong type or text that is not JSON is bad input.
[[nodiscard]] Result<RunManifest> ReadManifest(const std::string& directory);

}  // namespace reprise
