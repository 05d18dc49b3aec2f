// When a rank's nodes were recorded to start and end, also on the set's common clock: rank 0's,
// relative to the earliest base.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "et_schema/graph.h"

namespace reprise {

struct RankClock {
  std::int64_t shift_ns = 0;
  double drift = 0;

  // `t`: relative to the rank's own base, as Node::start_ns is.
  [[nodiscard]] std::int64_t Map(std::int64_t t) const {
    return t + shift_ns + (drift == 0 ? 0 : std::llround(drift * static_cast<double>(t)));
  }
  [[nodiscard]] static RankClock Of(const TraceMetadata& metadata, std::int64_t origin_ns) {
    return {metadata.base_ns + metadata.clock_offset_ns - origin_ns, metadata.clock_drift};
  }
};

// The earliest base of the set on rank 0's clock.
[[nodiscard]] inline std::int64_t OriginNs(std::span<const Graph* const> graphs) {
  std::int64_t origin_ns = std::numeric_limits<std::int64_t>::max();
  for (const Graph* graph : graphs) {
    const TraceMetadata& metadata = graph->metadata();
    origin_ns = std::min(origin_ns, metadata.base_ns + metadata.clock_offset_ns);
  }
  return origin_ns;
}

// The duration of such a node is what its latest dependency left of it.
[[nodiscard]] inline bool IsWait(const Graph& graph, Graph::Index i) {
  return graph.kind(i) == OpKind::kWait && graph.comm(i) == nullptr;
}

// By graph index. A wait starts when the latest of its dependencies has ended, if that is later
// than its call.
struct RecordedTimes {
  std::vector<std::int64_t> start_ns, end_ns;
};
[[nodiscard]] inline RecordedTimes RecordedTimesOf(const Graph& graph,
                                                   const RankClock& clock = {}) {
  RecordedTimes times{std::vector<std::int64_t>(graph.size()),
                      std::vector<std::int64_t>(graph.size())};
  for (const Graph::Index i : graph.order()) {
    times.start_ns[i] = clock.Map(graph.start_ns(i));
    times.end_ns[i] = clock.Map(graph.start_ns(i) + graph.duration_ns(i));
    if (IsWait(graph, i)) {
      for (const Graph::Index dep : graph.deps(i)) {
        times.start_ns[i] = std::max(times.start_ns[i], times.end_ns[dep]);
      }
      times.end_ns[i] = times.start_ns[i] + graph.duration_ns(i);
    }
  }
  return times;
}

}  // namespace reprise
