// The console's section on fidelity. Only report/console sees this.
#pragma once

#include <string>

#include "report/fidelity.h"
#include "report/table.h"

namespace reprise {

[[nodiscard]] std::string FidelityText(const FidelityDetails& details, const Style& style);

}  // namespace reprise
