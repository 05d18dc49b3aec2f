// A prediction for scripts: docs/simulation.md has the keys.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "predict/prediction.h"

namespace reprise {

[[nodiscard]] nlohmann::ordered_json PredictionJson(const Prediction& prediction);

}  // namespace reprise
