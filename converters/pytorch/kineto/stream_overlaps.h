// Device events that overlap on their stream: rounding, a damaged duration, or kernels that truly
// ran beside each other (docs/definitions.md, "Kernels beside each other on a stream").
#pragma once

#include <cstdint>
#include <string>

#include "converters/pytorch/kineto/device_events.h"
#include "core/diagnostics.h"

namespace reprise::pytorch {

// Ends damaged events where the next one of their stream begins, or where the host had seen them
// end (`duration_damaged`), and moves starts that whole microseconds rounded into the event before
// (`stream_overlap`). All others keep their times; those that begin before the one before them on
// their stream has ended are counted (`runs_beside_others`). Needs events and calls by start, and
// leaves the events so; `host_end_ns` is the last end of the host's operations.
void SettleStreams(const std::string& label, std::int64_t host_end_ns, DeviceTrace& trace,
                   Diagnostics& diagnostics);

}  // namespace reprise::pytorch
