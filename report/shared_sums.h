// A report by several processes: each finds the sums of its share of a run's ranks.
#pragma once

#include <string>

#include "core/processes.h"
#include "core/result.h"
#include "report/analysis.h"

namespace reprise {

// Before AnalyzeRun, by all processes, which see the run under one path. Of a run that is read rank
// by rank the sums of all ranks with large files are kept then (report/stored_sums.h); of others
// nothing is done. Where they cannot be written, a warning says that the report takes longer. Bad
// input: a rank's file is damaged.
[[nodiscard]] Status ShareSums(const std::string& directory, const AnalysisOptions& options,
                               Processes& processes);

}  // namespace reprise
