// Items of compiled code on the host's threads (rank/compiled_code.h).
#pragma once

#include <vector>

#include "converters/pytorch/edges/rank_timeline.h"

namespace reprise::pytorch {

// `threads`: the items of each thread, by start and without overlap. Adds one for each part of a
// compiled operation's time in which it runs no other item and no other compiled operation; sorted
// again. Counts them and their time (`compiled_code`). None where nothing has a time.
void AddCompiledItems(RankCapture& rank, std::vector<std::vector<Item>>& threads);

}  // namespace reprise::pytorch
