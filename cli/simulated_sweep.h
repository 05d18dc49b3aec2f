// reprise simulate --sweep: one job on many layouts, each simulated without a set or a run.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "cli/simulated_set.h"
#include "cli/workload_flags.h"
#include "core/result.h"
#include "workload/job/grid.h"

namespace reprise {

struct JobSweepFlags {
  std::vector<std::string> keys;  // "tp=1,2,4,8"
  std::string rank_by = "time";
};
void AddJobSweepFlags(CLI::App& app, JobSweepFlags& flags);

struct JobSweepRequest {
  JobSweepFlags flags;
  WorkloadFlags workload;       // what all configurations share; of a grid not used
  const Grid* grid = nullptr;   // its rows are simulated; keys choose among them
  const SimulatedSet* machine;  // prepared; copied for each configuration
  // Of everything besides the configuration that times depend on: rows of another sweep are not
  // taken for this one's.
  std::string settings;
  std::string directory;
  bool fold = true, force = false, json = false, quiet = false;
};

// Writes rows.jsonl while it runs, then sweep.csv, sweep.json and index.html. Rows that are there
// already are not simulated again. Configurations that cannot be stand in the table with the
// reason: that is no error, unless none can be. Usage: a key or a value that there is not, a
// directory that holds something else.
[[nodiscard]] Status RunJobSweep(const JobSweepRequest& request);

}  // namespace reprise
