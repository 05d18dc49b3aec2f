// The report's JSON on fidelity. Only report/json sees this.
#pragma once

#include <nlohmann/json.hpp>

#include "report/fidelity.h"

namespace reprise {

// Members to put beside the three errors.
void AddFidelityJson(const FidelityDetails& details, nlohmann::ordered_json& json);

}  // namespace reprise
