// What a rank's capture is to processes that have not read it.
#pragma once

#include <string>
#include <string_view>

#include "converters/pytorch/rank/rank_capture.h"

namespace reprise::pytorch {

// All that is asked of another rank's capture before its timeline is built: by CheckRanks,
// AssignGroups and MatchTransfers.
[[nodiscard]] std::string TellRank(const RankCapture& rank);

// The rank as those take it: of its operations and device events it has those that its transfers
// name, of their tensors the number. False: these bytes are none of TellRank's.
[[nodiscard]] bool HearRank(std::string_view told, RankCapture& rank);

// What those found of a rank that was heard goes to the same rank, read since. False: it is
// another.
[[nodiscard]] bool TakeFindings(RankCapture& heard, RankCapture& read);

}  // namespace reprise::pytorch
