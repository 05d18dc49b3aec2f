// The short report at the end of a replay.
#pragma once

#include <string>

#include "core/result.h"

namespace reprise {

// On stdout, as text or as the JSON of `reprise report --json`. Of a run of more ranks than are
// merged in full, whose report takes long, only how to get it.
[[nodiscard]] Status PrintRunReport(const std::string& run, bool json);

}  // namespace reprise
