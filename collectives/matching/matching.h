// The check before a replay: what would hang or corrupt is refused, and explained.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "collectives/communicator.h"
#include "collectives/matching/group_rounds.h"
#include "collectives/matching/sequences.h"
#include "core/result.h"

namespace reprise {

// For sets whose plans are all in one process: `plans[r]` is rank r's list in issue order; groups
// map ids to ranks (empty: unknown id).
//
// Completes splits that a member's plan lacks: PyTorch's all_gather of different sizes records no
// splits, and one rank of an uneven all_to_all may hold even ones. Writes the splits that follow
// from the other members' sizes into every plan; contradictory plans stay as they are.
void CompleteSplits(std::vector<std::vector<PlannedTransfer>>& plans,
                    const RanksOfGroup& ranks_of_group);
// The n-th transfer of each sequence must agree on every member: kind, dtype, sizes, root, splits;
// every send needs its recv. One message per mismatch, naming both ranks' node ids and what
// differs; success if none. Transfers to the outside are not compared. Of each sequence only the
// first mismatch is reported, the rest counted.
[[nodiscard]] Status MatchTransfers(const std::vector<std::vector<PlannedTransfer>>& plans,
                                    const RanksOfGroup& ranks_of_group);

// Of one group of many members that do the same: `plans` has those of some, by position in the
// group, and each other member's plan is equal to one of these. MatchAlike says what MatchTransfers
// would of all of them, as long as nothing depends on the position: DependOnPosition is false.
using PlansOfSome = std::map<std::int32_t, const std::vector<PlannedTransfer>*>;
[[nodiscard]] bool DependOnPosition(const PlansOfSome& plans);
[[nodiscard]] Status MatchAlike(const PlansOfSome& plans, std::int32_t group_size);

// Both with every rank of a run holding only its own plan, with the same outcome and messages on
// all of them. Collective over all ranks; `mine` is this rank's plan in issue order. `rounds` holds
// the groups of this rank, `ranks_of_group` all of the run (empty: unknown id).
//
// Costs each rank its own transfers once, and two reductions of a few words in each of its groups;
// where they show a difference, a few words for each collective of that group. Only uneven blocks
// that some member cannot know cost a word per member and collective (as long as the lists that
// follow from them), and only mismatches cost words to every member of the group or the transfers
// of one member.
[[nodiscard]] Status MatchAcross(GroupRounds& rounds, const RanksOfGroup& ranks_of_group,
                                 std::vector<PlannedTransfer>& mine);

}  // namespace reprise
