// The console's section on energy use. Only report/console sees this.
#pragma once

#include <optional>
#include <string>

#include "report/energy.h"
#include "report/table.h"

namespace reprise {

// "3.21 mJ", "48.0 J"; "-" for nothing.
[[nodiscard]] std::string JoulesText(std::optional<double> joules);

[[nodiscard]] std::string EnergyText(const EnergyAttribution& attribution, const Style& style);

}  // namespace reprise
