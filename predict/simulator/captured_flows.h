// A captured set's transfers on a machine whose links they share as they come and go.
#pragma once

#include "core/result.h"
#include "core/timing/dry_run.h"
#include "predict/simulator/network.h"
#include "predict/simulator/scale.h"

namespace reprise {

// `recorded`: the set's own times, on `from`. `timing`: scaled by models in which each transfer has
// its links to itself. What sharing did in the recording is taken out first: a transfer's mean
// share of its links, by max-min fairness among those that moved at the same time. Then the set is
// scheduled on `to` with the sharing there, and `timing` gets the transfers' times.
//
// Where both machines have the same network, recorded times hold the sharing already, and nothing
// changes. Bad input: a cycle.
[[nodiscard]] Status ShareCapturedLinks(const CapturedSet& set, const Network& from,
                                        const Network& to, const TimingGraph& recorded,
                                        TimingGraph& timing);

}  // namespace reprise
