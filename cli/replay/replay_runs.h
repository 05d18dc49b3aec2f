// reprise replay --processes N --runs K: starts the replay as processes, K times.
#pragma once

#include <CLI/CLI.hpp>

#include "cli/program/commands.h"
#include "core/result.h"
#include "replayer/replay.h"

namespace reprise {

// A run is everything anew: processes, MPI, devices, compiled programs, buffers, warm-up.
struct RunsFlags {
  int processes = 0;  // 0: not given
  int runs = 0;       // 0: not given
};
void AddRunsFlags(CLI::App& app, RunsFlags& flags);
[[nodiscard]] bool StartsProcesses(const RunsFlags& flags);

// The replay that is to be repeated.
struct RepeatedReplay {
  const ReplayRequest& request;
  int ranks_per_process = 1;
  bool quiet = false, json = false;
};
// With --runs into OUT/run1 … OUT/runK, of which it prints the median and the range of the step
// times, and the report of the run in the middle. Without into OUT, as mpirun would do it. The exit
// code is the first that is not 0, after which no other run starts. Usage error under a launcher:
// Open MPI's processes cannot start mpirun.
[[nodiscard]] Result<int> RunAsProcesses(const RunsFlags& flags, const RepeatedReplay& replay,
                                         const CommandContext& context);

}  // namespace reprise
