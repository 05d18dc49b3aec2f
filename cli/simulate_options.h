// Which options of `reprise simulate` have an effect on what is simulated. The others are refused.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "cli/sweep_grid.h"
#include "cli/workload_flags.h"
#include "core/result.h"

namespace reprise {

// Usage error: an option without effect on `what`, a set's directory or a job, as `app` was given.
// Options of the job alone: CheckWorkloadEffects.
[[nodiscard]] Status CheckSimulateOptions(const CLI::App& app, const std::string& what);

// Usage error: a swept key that is given as an option, too, that is no part of layout or step, or
// that has no effect on the job.
[[nodiscard]] Status CheckSweptOptions(const std::vector<SweepKey>& keys,
                                       const WorkloadFlags& workload);

}  // namespace reprise
