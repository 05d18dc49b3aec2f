// --mode dry: the whole set's schedule on a simulated clock. Nothing runs; every time is modelled.
#pragma once

#include "replayer/replay.h"

namespace reprise {

// Needs no device and no mpirun: rank 0 simulates all ranks that are played and writes the run,
// other ranks (if any were started) only agree; one trace on all ranks is simulated on as many as
// were started. Durations are the recorded ones, × --time-scale; gaps are taken as --host-gaps
// says. The manifest's option `mode` is "dry" and every record is timed.
[[nodiscard]] tl::expected<ReplayOutcome, ReplayFailure> DryReplay(const ReplayRequest& request,
                                                                   Communicator& communicator);

}  // namespace reprise
