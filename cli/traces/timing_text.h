// The rows of `validate --timing` for people, to stdout.
#pragma once

#include <vector>

#include "replayer/plan/timing_check.h"

namespace reprise {

// One line for the step, and one for each of the first failed rows with its first finding.
void PrintTimingSummary(const std::vector<TimingRow>& rows);
// Every row, and all findings of those that failed.
void PrintTimingTable(const std::vector<TimingRow>& rows);

}  // namespace reprise
