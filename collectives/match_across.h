// The check before a replay, with every rank holding only its own plan.
//
// Costs each rank its own transfers once, and two reductions of a few words in each of its groups;
// where they show a difference, a few words for each collective of that group. Only uneven blocks
// that some member cannot know cost a word per member and collective (as long as the lists that
// follow from them), and only mismatches cost words to every member of the group or the transfers
// of one member.
#pragma once

#include <vector>

#include "collectives/communicator.h"
#include "collectives/group_rounds.h"

namespace reprise {

// CompleteSplits and MatchTransfers (communicator.h) across ranks, with the same outcome and
// messages on all of them. Collective over all ranks; `mine` is this rank's plan in issue order.
// `rounds` holds the groups of this rank, `ranks_of_group` all of the run (empty: unknown id).
[[nodiscard]] Status MatchAcross(GroupRounds& rounds, const RanksOfGroup& ranks_of_group,
                                 std::vector<PlannedTransfer>& mine);

}  // namespace reprise
