// The process groups of one rank, with their members.
#pragma once

#include <cstdint>

#include "converters/pytorch/rank/rank_capture.h"

namespace reprise::pytorch {

// Fills `rank.groups` from all that names them: process_group:init, distributedInfo, and what
// transfers say of theirs. Members are, in this order (docs/definitions.md, "Sources of a
// transfer's facts"): a list of ranks; first rank, distance and number; all ranks, where a record
// says so or the group is the default one. `world_size`: of the set. Groups whose members none of
// them says stay without (`group_members_unknown`). Lists that differ: the first is taken
// (`group_members_differ`).
void SettleGroups(std::int32_t world_size, RankCapture& rank);

}  // namespace reprise::pytorch
