// Why each node waits for others.
#pragma once

#include "converters/pytorch/edges/rank_timeline.h"
#include "converters/pytorch/rank/rank_capture.h"

namespace reprise::pytorch {

// Fills Item::deps with thread, launch, group, comm_wait, data and fwd_bwd edges (see
// docs/definitions.md). An edge that the recording contradicts is left out and counted: transfers
// of one group that overlap (`transfers_overlap`: gloo runs two at a time; the edge then comes from
// the last that had ended), data used before they came (`early_use`).
void AddEdges(RankCapture& rank, Timeline& timeline);

}  // namespace reprise::pytorch
