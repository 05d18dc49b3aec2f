// Perfetto's native trace format (protobuf), for ui.perfetto.dev and its trace processor.
#pragma once

#include <cstdint>
#include <iosfwd>

#include "core/result.h"
#include "core/timeline.h"

namespace reprise {

struct PerfettoSummary {
  std::uint64_t slices = 0, flows = 0, points = 0;
  // Arrows that the format can't express: the slice at their head begins before the one they come
  // from. Left out.
  std::uint64_t backward_flows = 0;
};

// Slices of a track that overlap go to further tracks of the same name, which the viewer shows as
// one. If anything lies before time 0, all times are shifted by the same amount. The same timeline
// gives the same bytes.
[[nodiscard]] Result<PerfettoSummary> WritePerfetto(const Timeline& timeline, std::ostream& out);

}  // namespace reprise
