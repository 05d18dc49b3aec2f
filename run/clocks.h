// Brings the times of a run's hosts onto one clock.
#pragma once

#include "run/run.h"

namespace reprise {

// Moves records, steps, samples and the idle window of every rank onto the clock of rank 0's host
// and sets RankData::clock_uncertainty_ns, where that is known: all ranks are on one host; else
// each host has readings against rank 0's (kFactClockReadings), else against Unix time
// (kFactWallReadings), which is said in `notes`. Where it is not known for every host, all stays as
// it is and clock_uncertainty_ns unset. Call it once on what was read.
void RelateClocks(RunData& run);

}  // namespace reprise
