// The console's sections on fidelity; empty where a run has nothing for one. Only report/console
// sees this.
#pragma once

#include <string>

#include "report/report.h"
#include "report/table.h"

namespace reprise {

[[nodiscard]] std::string DifferenceText(const Report& report, const Style& style);
[[nodiscard]] std::string NodeErrorsText(const Report& report, const Style& style);
[[nodiscard]] std::string TopDifferencesText(const Report& report, const Style& style);
[[nodiscard]] std::string CriticalPathText(const Report& report, const Style& style);
[[nodiscard]] std::string ActorsText(const Report& report, const Style& style);
[[nodiscard]] std::string OverlapText(const Report& report, const Style& style);

}  // namespace reprise
