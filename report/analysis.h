// From a run to its report. Results that need all ranks' steps, transfers and telemetry come from
// an outline of the run; results that need nodes are computed part by part.
#pragma once

#include <cstdint>
#include <string>

#include "core/result.h"
#include "report/nodes/measured_run.h"
#include "report/run/memory_need.h"
#include "report/sections/html_limits.h"
#include "report/stored_analysis.h"
#include "report/values/report.h"

namespace reprise {

struct AnalysisOptions {
  bool page = false;
  bool same_machine = false;  // the user knows that the run was recorded where it was replayed
  HtmlLimits limits;
  // A run that would take more memory is read rank by rank, which leaves out what moved the step's
  // end and the critical path. 0: what the machine has.
  std::int64_t memory_bytes = 0;
  // What is found of a run whose ranks' files hold as much is kept beside them
  // (report/stored_analysis.h).
  std::int64_t stored_from_bytes = kLargeRunBytes;
};

// For a run in memory; without a page.
[[nodiscard]] Report Analyze(const RunData& run);
[[nodiscard]] Analysis AnalyzeRun(const MeasuredRun& run, const AnalysisOptions& options);
// Of a run on disk. Environment: not even one rank fits in memory.
[[nodiscard]] Result<Analysis> AnalyzeRun(const std::string& directory,
                                          const AnalysisOptions& options = {});

// Whether the run is read rank by rank for that: nothing is kept of it, and it does not fit in
// memory. False where it cannot be read.
[[nodiscard]] bool IsReadByRank(const std::string& directory, const AnalysisOptions& options);

}  // namespace reprise
