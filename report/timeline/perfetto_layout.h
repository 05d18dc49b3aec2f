// In which order and on which tracks Perfetto wants a timeline. Only report/perfetto sees this.
#pragma once

#include <compare>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/timeline.h"

namespace reprise {

// A slice's beginning or end, or a counter's point. Ends come first: what begins at the same time
// is not inside. A slice of no length has no end of its own: it ends right after it began.
struct PerfettoEvent {
  enum class Kind : std::uint8_t { kEnd, kBegin, kPoint };
  std::int64_t time_ns = 0;
  Kind kind = Kind::kBegin;
  Timeline::Index index = 0;
  auto operator<=>(const PerfettoEvent&) const = default;
};

struct PerfettoLayout {
  std::int64_t origin_ns = 0;  // to subtract: the earliest time, if before 0
  // Slices of a track there must not overlap: those that do go to further lanes, tracks that follow
  // the timeline's own. For each lane, the track that it belongs to.
  std::vector<Timeline::Index> lanes;
  std::vector<std::size_t> track_of_slice;  // a track of the timeline, or its size + a lane
  // (slice, number of the flow), sorted; a flow's number is its position + 1.
  std::vector<std::pair<Timeline::Index, std::uint64_t>> outgoing, incoming;
  std::uint64_t backward_flows = 0;   // their head begins before their tail: in neither list
  std::vector<PerfettoEvent> events;  // in order
};

[[nodiscard]] PerfettoLayout LayOut(const Timeline& timeline);

}  // namespace reprise
