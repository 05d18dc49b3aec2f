// What a user with a hang wants to know: which transfers had not ended, and which ranks had not
// issued them.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "converters/recorded_transfers/recorded_transfers.h"

namespace reprise::recorded_transfers {

// A line for each group, and each pair of ranks, with a transfer that had not ended: its first one,
// how far it is on which ranks, and where the others stand. Empty: all ended. At most 20 lines, and
// one that counts the rest. Counts `transfer_not_completed`.
[[nodiscard]] std::vector<std::string> WhereRanksStand(
    std::span<RecordedRank> ranks, const std::map<std::string, ProcessGroup>& groups);

}  // namespace reprise::recorded_transfers
