// The flags that describe a training job: of generate, predict and sweep.
#pragma once

#include <CLI/CLI.hpp>

#include "predict/workload/job/options.h"

namespace reprise {

// All of AllJobOptions.
void AddJobFlags(CLI::App& app, JobOptions& options);

}  // namespace reprise
