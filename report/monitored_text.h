// Runs of `reprise monitor`: nothing was replayed, so there is no coverage and no fidelity.
#pragma once

#include <string>

#include "report/report.h"
#include "report/table.h"

namespace reprise {

[[nodiscard]] bool IsMonitored(const RunManifest& manifest);
// In place of coverage and step times: what was watched, and how long.
[[nodiscard]] std::string MonitoredHead(const Report& report, const Style& style);
// The command's time on each rank; empty for one.
[[nodiscard]] std::string MonitoredRanks(const Report& report, const Style& style);

}  // namespace reprise
