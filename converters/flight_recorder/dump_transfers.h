// A dump's entries as transfers.
#pragma once

#include <string>

#include "converters/flight_recorder/dump.h"
#include "converters/recorded_transfers/recorded_transfers.h"

namespace reprise::flight_recorder {

// Entries that one launch carried out together come before the entry of that launch, whose name
// ends with "coalesced" and which has their times and state; it is no transfer of its own
// (`coalesced_launch`). `path` begins what messages say of the entries.
[[nodiscard]] recorded_transfers::RecordedRank TransfersOf(const Dump& dump,
                                                           const std::string& path);

}  // namespace reprise::flight_recorder
