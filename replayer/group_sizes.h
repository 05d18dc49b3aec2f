// Sizes of collectives whose group has other members than recorded (docs/modes.md).
#pragma once

#include <vector>

#include "collectives/communicator.h"
#include "replayer/rank_mapping.h"

namespace reprise {

// `plans[r]`: rank r's transfers after PlayAs, sizes and splits still as recorded. Afterwards they
// are those of the run's groups, consistent on all members:
//   all_reduce, reduce, broadcast  as recorded
//   all_gather, gather, reduce_scatter, scatter, all_to_all
//     even, kScale    every member's block as recorded, the whole is members × block
//     even, kKeep     the whole as recorded, less what does not divide by the members
//     uneven          blocks of members that are gone are removed, under kKeep too
//   one trace         all members alike, the first is the root; an uneven all_to_all takes the mean
//                     of its blocks
// Groups with all their members keep everything.
void FitSizes(std::vector<std::vector<PlannedTransfer>>& plans, const RankMapping& mapping);

// Whether the ranks chose the same transfers: a part of a trace can hold one side of a transfer
// without the other. Bad input names the first such transfer of a sequence.
[[nodiscard]] Status CheckSameTransfers(const std::vector<std::vector<PlannedTransfer>>& plans,
                                        const RankMapping& mapping);

}  // namespace reprise
