// The process groups of one rank, with their members.
#pragma once

#include <cstdint>
#include <span>

#include "converters/pytorch/rank/rank_capture.h"
#include "core/diagnostics.h"

namespace reprise::pytorch {

// Fills `rank.groups` from all that names them: process_group:init, distributedInfo, and what
// transfers say of theirs. Members are, in this order (docs/definitions.md, "Sources of a
// transfer's facts"): a list of ranks; first rank, distance and number; all ranks, where a record
// says so or the group is the default one. `world_size`: of the set. Groups whose members none of
// them says stay without (`group_members_unknown`). Lists that differ: the first is taken
// (`group_members_differ`).
void SettleGroups(std::int32_t world_size, RankCapture& rank);

// Before that: NCCL's communicators have one name on all members (kCommunicatorPrefix). Where no
// record lists the members, they are the ranks that use it, if that are as many as a record says,
// or none says it (`group_members_by_use`).
void ListCommunicators(std::span<RankCapture> ranks, Diagnostics& diagnostics);

}  // namespace reprise::pytorch
