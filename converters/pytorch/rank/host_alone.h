// A host trace alone: it has no times, so that its order stands in for them.
#pragma once

#include "converters/pytorch/host/host_trace.h"
#include "converters/pytorch/kineto/kineto.h"
#include "core/diagnostics.h"

namespace reprise::pytorch {

// One event for every node: thread by thread in order of creation, within its caller; a nanosecond
// stands between any two. Sets record-function ids where the trace has none. Counts `no_times`.
[[nodiscard]] KinetoTrace KinetoOf(HostTrace& host, Diagnostics& diagnostics);

}  // namespace reprise::pytorch
