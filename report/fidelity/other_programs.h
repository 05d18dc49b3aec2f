// Whether other programs took the replay's cores.
#pragma once

#include <span>
#include <vector>

#include "report/run/run.h"
#include "report/values/iteration_use.h"

namespace reprise {

// Of the `iterations` measured ones that follow `warmup`, in order. CPU time that programs used on
// the cores of a host's ranks, less that of the ranks' own processes, and the same for all of them
// together. Of several hosts the busiest counts. Nothing is known of runs without loads, and where
// ranks have some but not all cores in common.
[[nodiscard]] ProcessorUse ProcessorUseOf(const RunData& run, std::int64_t warmup,
                                          std::int64_t iterations);

}  // namespace reprise
