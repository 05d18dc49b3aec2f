// A rank's recorded times on the set's common clock: rank 0's, relative to the earliest base.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

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

}  // namespace reprise
