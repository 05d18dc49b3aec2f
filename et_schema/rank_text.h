// Ranges of ranks as ranks.json and reports write them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "et_schema/rank_classes.h"

namespace reprise {

// "7", "0-7", "64-127:8".
[[nodiscard]] std::string RangeText(const RankRange& range);
// Of ascending numbers: "0-7, 64-127:8".
[[nodiscard]] std::string RangesText(const std::vector<std::int32_t>& numbers);

}  // namespace reprise
