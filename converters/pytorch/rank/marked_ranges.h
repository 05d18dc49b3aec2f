// The ranges that a program marked: record_function and what libraries mark with it.
#pragma once

#include <cstddef>
#include <vector>

#include "converters/pytorch/rank/rank_capture.h"
#include "et_schema/range_lists.h"

namespace reprise::pytorch {

// User annotations but for steps and transfers, and the modules that a profiler recorded, by start,
// callers before what they enclose. The first `most` of them, what the program marked itself before
// modules, and no longer names than files hold; the rest is counted (`range_left_out`). None where
// nothing has a time.
[[nodiscard]] std::vector<Range> FindRanges(const RankCapture& rank, Diagnostics& diagnostics,
                                            std::size_t most = kMaxRanges);

}  // namespace reprise::pytorch
