// A search of layouts for people and as JSON (docs/simulation.md has the keys).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "predict/search/search.h"

namespace reprise {

[[nodiscard]] std::string SearchText(const LayoutSearch& search);
[[nodiscard]] nlohmann::ordered_json SearchJson(const LayoutSearch& search);

}  // namespace reprise
