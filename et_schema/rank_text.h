// Ranges of ranks as ranks.json and reports write them.
#pragma once

#include <string>

#include "et_schema/rank_classes.h"

namespace reprise {

// "7", "0-7", "64-127:8".
[[nodiscard]] std::string RangeText(const RankRange& range);

}  // namespace reprise
