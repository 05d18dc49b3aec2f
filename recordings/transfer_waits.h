// What ranks of a run waited for each other in transfers.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "run/run.h"

namespace reprise {

// What each member of a transfer waited for the last one to arrive: by rank and node, the median
// over iterations of its duration less its own time (report/nodes/transfers.h).
using TransferWaits = std::map<std::pair<std::int32_t, std::uint64_t>, std::int64_t>;
[[nodiscard]] TransferWaits WaitsOf(const RunData& run);

}  // namespace reprise
