// Edges of GPU captures: streams, launches, waits between streams, and between host and device.
#pragma once

#include "converters/pytorch/edges/rank_timeline.h"
#include "converters/pytorch/rank/rank_capture.h"

namespace reprise::pytorch {

// Adds stream, launch, event and sync edges, and where one host thread hands over to another
// (autograd's worker) inferred thread edges. Needs the thread edges. An edge that the recording
// contradicts is left out and counted: `launch_after_start` (the kernel started before its launch
// began), `early_wait_end` (what should have been waited for ended later).
void AddDeviceEdges(RankCapture& rank, Timeline& timeline);

}  // namespace reprise::pytorch
