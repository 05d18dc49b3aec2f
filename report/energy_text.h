// The console's section on energy use. Only report/console sees this.
#pragma once

#include <optional>
#include <string>

#include "report/report.h"
#include "report/table.h"

namespace reprise {

// "3.21 mJ", "48.0 J"; "-" for nothing.
[[nodiscard]] std::string JoulesText(std::optional<double> joules);

// Empty without an attribution.
[[nodiscard]] std::string EnergyText(const Report& report, const Style& style);

}  // namespace reprise
