// The ranks of a recording for programs (docs/comparisons.md). Only recordings/ sees this.
#pragma once

#include "core/json_fields.h"
#include "recordings/ranks.h"

namespace reprise {

REPRISE_JSON_FIELDS(PathPart, name, ns)

[[nodiscard]] Json RanksJson(const RecordedJob& job, const RankComparison& ranks);

}  // namespace reprise
