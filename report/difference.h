// The step's difference and the two critical paths. Only report/ sees this.
#pragma once

#include <string>
#include <vector>

#include "report/fidelity.h"
#include "report/run_timing.h"

namespace reprise {

[[nodiscard]] Result<Difference> ExplainDifference(const RunTiming& timing);
[[nodiscard]] Result<std::vector<PathRow>> ComparePaths(const RunTiming& timing);

}  // namespace reprise
