#include "report/timeline/perfetto_layout.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace reprise {
namespace {

using Index = Timeline::Index;

std::int64_t Origin(const Timeline& timeline) {
  std::int64_t origin_ns = 0;
  for (const Timeline::Slice& slice : timeline.slices) {
    origin_ns = std::min(origin_ns, slice.start_ns);
  }
  for (const Timeline::Point& point : timeline.points) {
    origin_ns = std::min(origin_ns, point.time_ns);
  }
  return origin_ns;
}

// Each slice's track: its own, or the first further lane of it that is free again by then.
void AssignLanes(const Timeline& timeline, PerfettoLayout& layout) {
  struct Lane {
    std::size_t track;
    std::int64_t free_ns;
  };
  std::vector<std::vector<Lane>> lanes(timeline.tracks.size());
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    lanes[i].push_back({i, std::numeric_limits<std::int64_t>::min()});
  }
  std::vector<Index> order(timeline.slices.size());
  std::iota(order.begin(), order.end(), Index{0});
  std::ranges::stable_sort(order, {}, [&timeline](Index i) { return timeline.slices[i].start_ns; });
  layout.track_of_slice.resize(timeline.slices.size());
  for (const Index i : order) {
    const Timeline::Slice& slice = timeline.slices[i];
    std::vector<Lane>& of_track = lanes[slice.track];
    auto lane = std::ranges::find_if(
        of_track, [&slice](const Lane& candidate) { return candidate.free_ns <= slice.start_ns; });
    if (lane == of_track.end()) {
      of_track.push_back({timeline.tracks.size() + layout.lanes.size(), 0});
      layout.lanes.push_back(slice.track);
      lane = of_track.end() - 1;
    }
    lane->free_ns = slice.start_ns + slice.duration_ns;
    layout.track_of_slice[i] = lane->track;
  }
}

void AssignFlows(const Timeline& timeline, PerfettoLayout& layout) {
  for (std::size_t i = 0; i < timeline.flows.size(); ++i) {
    const Timeline::Flow& flow = timeline.flows[i];
    const std::pair from(timeline.slices[flow.from].start_ns, flow.from);
    if (from >= std::pair(timeline.slices[flow.to].start_ns, flow.to)) {
      ++layout.backward_flows;
      continue;
    }
    layout.outgoing.emplace_back(flow.from, i + 1);
    layout.incoming.emplace_back(flow.to, i + 1);
  }
  std::ranges::sort(layout.outgoing);
  std::ranges::sort(layout.incoming);
}

void SortEvents(const Timeline& timeline, PerfettoLayout& layout) {
  using Kind = PerfettoEvent::Kind;
  std::vector<PerfettoEvent>& events = layout.events;
  events.reserve(2 * timeline.slices.size() + timeline.points.size());
  for (Index i = 0; i < timeline.slices.size(); ++i) {
    const Timeline::Slice& slice = timeline.slices[i];
    events.push_back({slice.start_ns, Kind::kBegin, i});
    if (slice.duration_ns > 0) {
      events.push_back({slice.start_ns + slice.duration_ns, Kind::kEnd, i});
    }
  }
  for (Index i = 0; i < timeline.points.size(); ++i) {
    events.push_back({timeline.points[i].time_ns, Kind::kPoint, i});
  }
  std::ranges::sort(events);
}

}  // namespace

PerfettoLayout LayOut(const Timeline& timeline) {
  PerfettoLayout layout;
  layout.origin_ns = Origin(timeline);
  AssignLanes(timeline, layout);
  AssignFlows(timeline, layout);
  SortEvents(timeline, layout);
  return layout;
}

}  // namespace reprise
