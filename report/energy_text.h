// The console's section on energy use. Only report/console sees this.
#pragma once

#include <string>

#include "report/energy.h"
#include "report/table.h"

namespace reprise {

[[nodiscard]] std::string EnergyText(const EnergyAttribution& attribution, const Style& style);

}  // namespace reprise
