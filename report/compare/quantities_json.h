// Parts of a comparison's JSON (docs/comparisons.md) that comparisons of recordings have, too.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include "report/compare/compared.h"

namespace reprise {

// "runs", "iterations"; of recordings "recordings", or "none" where each side has one.
[[nodiscard]] std::string_view RepeatsName(const Comparison& comparison);
[[nodiscard]] nlohmann::ordered_json QuantitiesJson(const Comparison& comparison);

}  // namespace reprise
