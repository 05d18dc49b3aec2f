// manifest.json read back; WriteManifest is in run/run.h.
#pragma once

#include <string>

#include "run/run.h"

namespace reprise {

// A missing key keeps its default; a wrong type or text that is not JSON is bad input.
[[nodiscard]] Result<RunManifest> ReadManifest(const std::string& directory);

}  // namespace reprise
