// The report's JSON on energy attribution and on what limited the devices. Only report/json sees
// this.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "report/energy.h"
#include "report/throttling.h"

namespace reprise {

[[nodiscard]] nlohmann::ordered_json AmountJson(const std::optional<StepAmount>& amount);
[[nodiscard]] nlohmann::ordered_json AttributionJson(const EnergyAttribution& attribution);
[[nodiscard]] nlohmann::ordered_json ThermalJson(const ThermalDetails& thermal);

}  // namespace reprise
