// The step's difference and the two critical paths. Only report/ sees this.
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
};

// Bad input as EventOrder's.
[[nodiscard]] Result<TimingComparison> CompareTimes(const RunTiming& timing);

}  // namespace reprise
