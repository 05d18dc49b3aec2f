// The ranges that a program marked: record_function and what libraries mark with it.
#pragma once

#include <cstddef>
#include <vector>

#include "converters/pytorch/rank_capture.h"

namespace reprise::pytorch {

// More than a step of anything seen has, and still a small part of a file.
inline constexpr std::size_t kMostRanges = 65'536;

// User annotations but for steps and transfers, by start, callers before what they enclose. The
// first kMostRanges of them; the rest is counted (`range_left_out`). None where nothing has a time.
[[nodiscard]] std::vector<Range> FindRanges(const RankCapture& rank, Diagnostics& diagnostics,
                                            std::size_t most = kMostRanges);

}  // namespace reprise::pytorch
