// Process groups of a set from what each rank's recorder knows of them.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "converters/recorded_transfers/recorded_transfers.h"
#include "core/diagnostics.h"
#include "core/result.h"

namespace reprise::recorded_transfers {

// As many as the ranks and the groups' members say.
[[nodiscard]] std::int32_t WorldSizeOf(std::span<const RecordedRank> ranks);

// Groups are the same if their names and ranks are. "0" is the first that has all ranks; others are
// "1", "2", … in the order in which the ranks, lowest first, list them. Sets group and certainty of
// every transfer, and makes global ranks of peers and roots. A group whose ranks no file lists has
// those that use it (`group_members_by_use`), if `all_ranks` are there; else it stays unknown
// (`group_unknown`). Bad input: two files give one name different ranks, and a rank is in both.
[[nodiscard]] Result<std::map<std::string, ProcessGroup>> AssignGroups(
    std::span<RecordedRank> ranks, bool all_ranks, Diagnostics& diagnostics);

}  // namespace reprise::recorded_transfers
