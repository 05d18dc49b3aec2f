// The step's difference and the two critical paths. Only report/ sees this.
#pragma once

#include <string>
#include <vector>

#include "report/fidelity.h"
#include "report/run_timing.h"

namespace reprise {

struct TimingComparison {
  Schedule recorded;  // of timing.recorded
  Difference difference;
  std::vector<PathRow> critical_path;
};

// Bad input as EventOrder's.
[[nodiscard]] Result<TimingComparison> CompareTimes(const RunTiming& timing);

}  // namespace reprise
