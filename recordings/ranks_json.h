// The ranks of a recording for programs (docs/comparisons.md). Only recordings/ sees this.
#pragma once

#include <nlohmann/json.hpp>

#include "recordings/ranks.h"

namespace reprise {

[[nodiscard]] nlohmann::ordered_json RanksJson(const RecordedJob& job, const RankComparison& ranks);

}  // namespace reprise
