// Writes recorded transfers as a trace set.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "converters/converter.h"
#include "converters/recorded_transfers/recorded_transfers.h"
#include "core/result.h"

namespace reprise::recorded_transfers {

// A directory's files: of all ranks, one a rank (bad input, by name: a rank that is missing or
// there twice). One file: its rank alone. Each transfer becomes a node. It follows the transfer of
// its rank that ended last before it started; the time between them is kept.
[[nodiscard]] Result<ConvertReport> WriteTransferSet(const ConvertRequest& request,
                                                     std::vector<RecordedRank> ranks);

}  // namespace reprise::recorded_transfers
