// Runs of `reprise monitor`: nothing was replayed, so there is no coverage and no fidelity.
#pragma once

#include <string>

#include "report/report.h"
#include "report/table.h"

namespace reprise {

[[nodiscard]] bool IsMonitored(const RunManifest& manifest);
// What was watched, how long, on which ranks: in place of coverage, step times and ranks.
[[nodiscard]] std::string MonitoredText(const Report& report, const Style& style);

}  // namespace reprise
