// --mode dry: the whole set's schedule on a simulated clock. Nothing runs; every time is modelled.
#pragma once

#include "replayer/replay.h"

namespace reprise {

// Needs no device and no mpirun. Rank 0 simulates all replayed ranks and writes the run; other
// ranks, if any were started, only agree. With --one-trace it simulates as many ranks as were
// started. Durations are the recorded ones × --time-scale; gaps follow --host-gaps. The manifest's
// option `mode` is "dry", and every record is timed.
[[nodiscard]] tl::expected<ReplayOutcome, ReplayFailure> DryReplay(const ReplayRequest& request,
                                                                   Communicator& communicator);

}  // namespace reprise
