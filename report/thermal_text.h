// The console's sections on throttling, power peaks and heating. Only report/console sees this.
#pragma once

#include <string>

#include "report/table.h"
#include "report/throttling.h"

namespace reprise {

// Only what there is data for.
[[nodiscard]] std::string ThermalText(const ThermalDetails& thermal, const Style& style);

}  // namespace reprise
