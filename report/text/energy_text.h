// The console's section on energy use. Only report/sections sees this.
#pragma once

#include <string>

#include "report/text/table.h"
#include "report/values/report.h"

namespace reprise {

// Empty without an attribution.
[[nodiscard]] std::string EnergyText(const Report& report, const Style& style);

}  // namespace reprise
