// Prefill and decode of a run, for its report.
#pragma once

#include <string>

#include "core/result.h"
#include "report/run/run.h"
#include "report/values/report.h"

namespace reprise {

// Puts the passes of inference into `report.phase_uses` in place of the forward phase, where the
// run at `directory` has a decode loop: time, tokens and energy of a step, of the ranks on the
// first rank's host. A run that trains has none, and costs no second reading.
[[nodiscard]] Status AddInferencePhases(const std::string& directory, Report& report);
// The same of ranks in memory, all of the first rank's host.
void AddInferencePhases(const RunData& run, Report& report);

}  // namespace reprise
