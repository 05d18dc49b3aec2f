// Which ranks of the job the processes are, and what they did.
#pragma once

#include <string>
#include <vector>

#include "converters/nccl_inspector/inspector_file.h"
#include "converters/recorded_transfers/recorded_transfers.h"
#include "core/result.h"

namespace reprise::nccl_inspector {

// A process with several devices is several ranks. Ranks are those of the communicator with most
// members, if it has all processes; else they count by host and process (`ranks_by_process`).
// `whole_job`: the files are of a directory. Then bad input, by name: a communicator of which a
// rank is in no file, or in two; processes that no communicator joins; files of several versions.
// Counts `transfers_dropped` and what CompleteSizes counts (comm_sizes.h).
[[nodiscard]] Result<std::vector<recorded_transfers::RecordedRank>> RanksOf(
    const std::vector<InspectorFile>& files, bool whole_job);

}  // namespace reprise::nccl_inspector
