// Carries out a sweep: each job simulated without a set or a run, on all cores.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "core/result.h"
#include "predict/simulate.h"
#include "predict/sweep/table.h"

namespace reprise {

// The rows as they were simulated, one JSON object a line, with its checksum: a sweep that was
// ended goes on from them.
inline constexpr char kSweepRowsFile[] = "rows.jsonl";
inline constexpr char kSweepCsvFile[] = "sweep.csv", kSweepPageFile[] = "index.html",
                      kSweepFiguresFile[] = "figures.html";

struct SweepProgress {
  std::size_t known = 0;      // rows of an earlier sweep
  std::size_t cannot_be = 0;  // since
  std::size_t too_large = 0;  // by the estimate of their memory
  std::size_t simulated = 0;
  std::size_t of = 0;  // all rows
};

struct SweepRequest {
  const Sweep* sweep = nullptr;
  const TargetMachine* machine = nullptr;
  std::string rank_by = "time";
  // A hash of all that times depend on besides the jobs. A directory with another one is refused.
  std::string settings;
  std::string directory;  // made, or of an earlier sweep; the caller has checked that
  bool force = false;     // an earlier sweep's rows are dropped
  bool all = false;       // simulates also what does not fit
  std::function<void(const SweepProgress& progress)> progress;  // from any thread, one at a time
};

// Writes kSweepRowsFile while it runs, then the tables, the page and the figures. Jobs that cannot
// be stand in the table with the reason: that is no error, unless none can be (bad input). Jobs
// that do not fit by an estimate have their memory in the table, and no times. Usage: ranked by an
// energy that the machine does not tell, the directory holds a sweep with other settings, or
// another process writes one. Bad input: a row of an earlier sweep is damaged.
[[nodiscard]] Result<SweepTable> RunSweep(const SweepRequest& request);

}  // namespace reprise
