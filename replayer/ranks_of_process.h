// Replays several ranks in each process.
#pragma once

#include <functional>

#include "replayer/replay.h"

namespace reprise {

using ReplayRank =
    std::function<tl::expected<ReplayOutcome, ReplayFailure>(const ReplayRequest&, Communicator&)>;

// Replays `ranks` ranks on the processes of a communicator, each rank on a thread of its own
// (CreateFoldedCommunicators assigns ranks to processes). `replay` is Replay or DryReplay.
// Collective; the outcome is that of this process's first rank.
[[nodiscard]] tl::expected<ReplayOutcome, ReplayFailure> ReplayRanksOfProcess(
    const ReplayRequest& request, Communicator& processes, int ranks, const ReplayRank& replay);

}  // namespace reprise
