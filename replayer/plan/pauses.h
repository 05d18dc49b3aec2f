// How long a rank's pauses are without tracing: what its untraced step leaves of them.
#pragma once

#include "et_schema/graph.h"

namespace reprise {

// A host node that neither works nor waits: views, allocation, calls of transfers and of devices.
[[nodiscard]] bool IsPause(const Graph& graph, Graph::Index i);

// Factor on delays and host nodes, less what tracing took of them, with which they add up to what
// operations and transfers leave of the untraced step: 0 where these fill it. At most as long as
// recorded. 1 where the untraced step is unknown, where nothing pauses, and for a device's streams,
// which hide the host's pauses.
[[nodiscard]] double PauseFactor(const Graph& graph);

}  // namespace reprise
