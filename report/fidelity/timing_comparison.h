// The step's difference, the two critical paths, and what the replayed one would gain. Only report/
// sees this.
#pragma once

#include <string>
#include <vector>

#include "report/fidelity/run_timing.h"
#include "report/values/fidelity_values.h"

namespace reprise {

struct TimingComparison {
  Schedule recorded;  // of timing.recorded
  Difference difference;
  std::vector<PathRow> critical_path;
  std::vector<GainRow> gains;
};

// Bad input as EventOrder's.
[[nodiscard]] Result<TimingComparison> CompareTimes(const RunTiming& timing);
// Of a run whose recorded step is not known: TimingComparison::gains alone.
[[nodiscard]] Result<std::vector<GainRow>> GainsOf(const RunTiming& timing);

}  // namespace reprise
