#include "report/perfetto.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <ostream>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "report/perfetto.pb.h"

namespace reprise {
namespace {

using perfetto::InternedData;
using perfetto::InternedText;
using perfetto::TracePacket;
using Index = Timeline::Index;

constexpr std::uint32_t kSequence = 1;
constexpr std::uint32_t kStateCleared = 1;
constexpr std::uint32_t kNeedsState = 2;

// Perfetto's own id of a track; 0 would be its default track.
std::uint64_t UuidOf(std::size_t track) { return track + 1; }
// Process 0 is the idle task there.
std::int32_t PidOf(std::int64_t rank) { return static_cast<std::int32_t>(rank + 1); }

// A slice's beginning, its end or a counter's point.
struct Event {
  enum class Kind : std::uint8_t { kEnd, kBegin, kPoint };
  std::int64_t time_ns = 0;
  Kind kind = Kind::kBegin;  // ends first: what follows at the same time is not inside
  Index index = 0;
  [[nodiscard]] auto Key() const { return std::tuple(time_ns, kind, index); }
};

// Strings that were written once and have a number since.
class Strings {
 public:
  // `fresh` is called with the number where the text is new.
  template <typename Fresh>
  std::uint64_t Intern(const std::string& text, const Fresh& fresh) {
    const auto [at, added] = numbers_.try_emplace(text, numbers_.size() + 1);
    if (added) {
      InternedText* entry = fresh();
      entry->set_iid(at->second);
      entry->set_text(text);
    }
    return at->second;
  }

 private:
  std::unordered_map<std::string, std::uint64_t> numbers_;
};

class Writer {
 public:
  Writer(const Timeline& timeline, std::ostream& out) : timeline_(timeline), out_(out) {}

  PerfettoSummary Write() {
    FindOrigin();
    AssignLanes();
    AssignFlows();
    for (std::size_t i = 0; i < timeline_.tracks.size(); ++i) {
      WriteTrack(timeline_.tracks[i], UuidOf(i));
    }
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      Timeline::Track lane = timeline_.tracks[lanes_[i]];
      lane.kind = Timeline::TrackKind::kPlain;
      WriteTrack(lane, UuidOf(timeline_.tracks.size() + i));
    }
    for (const Event& event : SortedEvents()) {
      WriteEvent(event);
    }
    summary_.slices = timeline_.slices.size();
    summary_.points = timeline_.points.size();
    return summary_;
  }

 private:
  void FindOrigin() {
    for (const Timeline::Slice& slice : timeline_.slices) {
      origin_ns_ = std::min(origin_ns_, slice.start_ns);
    }
    for (const Timeline::Point& point : timeline_.points) {
      origin_ns_ = std::min(origin_ns_, point.time_ns);
    }
  }

  // Each slice's track: its own, or the first further lane of it that is free again by then.
  void AssignLanes() {
    struct Lane {
      std::uint64_t uuid;
      std::int64_t free_ns;
    };
    std::vector<std::vector<Lane>> lanes(timeline_.tracks.size());
    for (std::size_t i = 0; i < lanes.size(); ++i) {
      lanes[i].push_back({UuidOf(i), std::numeric_limits<std::int64_t>::min()});
    }
    std::vector<Index> order(timeline_.slices.size());
    std::iota(order.begin(), order.end(), Index{0});
    std::stable_sort(order.begin(), order.end(), [this](Index a, Index b) {
      return timeline_.slices[a].start_ns < timeline_.slices[b].start_ns;
    });
    uuids_.resize(timeline_.slices.size());
    for (const Index i : order) {
      const Timeline::Slice& slice = timeline_.slices[i];
      std::vector<Lane>& of_track = lanes[slice.track];
      auto lane = std::find_if(of_track.begin(), of_track.end(), [&slice](const Lane& candidate) {
        return candidate.free_ns <= slice.start_ns;
      });
      if (lane == of_track.end()) {
        of_track.push_back({UuidOf(timeline_.tracks.size() + lanes_.size()), 0});
        lanes_.push_back(slice.track);
        lane = of_track.end() - 1;
      }
      lane->free_ns = slice.start_ns + slice.duration_ns;
      uuids_[i] = lane->uuid;
    }
  }

  // A flow's number is its position + 1; each slice's are a run of sorted (slice, number) pairs.
  void AssignFlows() {
    for (std::size_t i = 0; i < timeline_.flows.size(); ++i) {
      const Timeline::Flow& flow = timeline_.flows[i];
      const std::pair from(timeline_.slices[flow.from].start_ns, flow.from);
      if (from >= std::pair(timeline_.slices[flow.to].start_ns, flow.to)) {
        ++summary_.backward_flows;
        continue;
      }
      outgoing_.emplace_back(flow.from, i + 1);
      incoming_.emplace_back(flow.to, i + 1);
      ++summary_.flows;
    }
    std::sort(outgoing_.begin(), outgoing_.end());
    std::sort(incoming_.begin(), incoming_.end());
  }

  [[nodiscard]] std::vector<Event> SortedEvents() const {
    std::vector<Event> events;
    events.reserve(2 * timeline_.slices.size() + timeline_.points.size());
    for (Index i = 0; i < timeline_.slices.size(); ++i) {
      const Timeline::Slice& slice = timeline_.slices[i];
      events.push_back({slice.start_ns, Event::Kind::kBegin, i});
      // One without duration ends at once, after its own beginning: see WriteEvent.
      if (slice.duration_ns > 0) {
        events.push_back({slice.start_ns + slice.duration_ns, Event::Kind::kEnd, i});
      }
    }
    for (Index i = 0; i < timeline_.points.size(); ++i) {
      events.push_back({timeline_.points[i].time_ns, Event::Kind::kPoint, i});
    }
    std::sort(events.begin(), events.end(),
              [](const Event& a, const Event& b) { return a.Key() < b.Key(); });
    return events;
  }

  void WriteTrack(const Timeline::Track& track, std::uint64_t uuid) {
    TracePacket packet;
    perfetto::TrackDescriptor& to = *packet.mutable_track_descriptor();
    to.set_uuid(uuid);
    to.set_child_ordering(perfetto::TrackDescriptor::EXPLICIT);
    to.set_sibling_order_rank(track.order);
    if (track.parent != Timeline::kNoTrack) {
      to.set_parent_uuid(UuidOf(track.parent));
    }
    switch (track.kind) {
      case Timeline::TrackKind::kProcess:
        to.mutable_process()->set_pid(PidOf(track.id));
        to.mutable_process()->set_process_name(track.name);
        to.mutable_process()->set_legacy_sort_index(track.order);
        break;
      case Timeline::TrackKind::kThread:
        to.mutable_thread()->set_pid(PidOf(timeline_.tracks[track.parent].id));
        to.mutable_thread()->set_tid(track.id);
        to.mutable_thread()->set_thread_name(track.name);
        break;
      case Timeline::TrackKind::kCounter:
        to.mutable_counter()->set_unit_name(track.unit);
        to.set_name(track.name);
        break;
      case Timeline::TrackKind::kPlain:
        to.set_name(track.name);
        break;
    }
    Emit(packet);
  }

  void WriteEvent(const Event& event) {
    TracePacket packet = At(event.time_ns);
    perfetto::TrackEvent& to = *packet.mutable_track_event();
    if (event.kind == Event::Kind::kPoint) {
      const Timeline::Point& point = timeline_.points[event.index];
      to.set_type(perfetto::TrackEvent::COUNTER);
      to.set_track_uuid(UuidOf(point.track));
      to.set_double_counter_value(point.value);
      Emit(packet);
      return;
    }
    to.set_track_uuid(uuids_[event.index]);
    if (event.kind == Event::Kind::kBegin) {
      FillBegin(event.index, packet);
      Emit(packet);
      if (timeline_.slices[event.index].duration_ns > 0) {
        return;
      }
      packet = At(event.time_ns);
      packet.mutable_track_event()->set_track_uuid(uuids_[event.index]);
    }
    packet.mutable_track_event()->set_type(perfetto::TrackEvent::SLICE_END);
    Emit(packet);
  }

  void FillBegin(Index index, TracePacket& packet) {
    const Timeline::Slice& slice = timeline_.slices[index];
    perfetto::TrackEvent& to = *packet.mutable_track_event();
    to.set_type(perfetto::TrackEvent::SLICE_BEGIN);
    to.set_name_iid(names_.Intern(
        slice.name, [&packet] { return packet.mutable_interned_data()->add_event_names(); }));
    if (!slice.category.empty()) {
      to.add_category_iids(categories_.Intern(slice.category, [&packet] {
        return packet.mutable_interned_data()->add_event_categories();
      }));
    }
    for (const Timeline::Annotation& annotation : slice.annotations) {
      FillAnnotation(annotation, packet);
    }
    for (auto at = std::lower_bound(outgoing_.begin(), outgoing_.end(), std::pair(index, 0UL));
         at != outgoing_.end() && at->first == index; ++at) {
      to.add_flow_ids(at->second);
    }
    for (auto at = std::lower_bound(incoming_.begin(), incoming_.end(), std::pair(index, 0UL));
         at != incoming_.end() && at->first == index; ++at) {
      to.add_terminating_flow_ids(at->second);
    }
  }

  void FillAnnotation(const Timeline::Annotation& annotation, TracePacket& packet) {
    perfetto::DebugAnnotation& to = *packet.mutable_track_event()->add_debug_annotations();
    to.set_name_iid(annotation_names_.Intern(annotation.name, [&packet] {
      return packet.mutable_interned_data()->add_debug_annotation_names();
    }));
    if (const auto* integer = std::get_if<std::int64_t>(&annotation.value)) {
      to.set_int_value(*integer);
    } else if (const auto* real = std::get_if<double>(&annotation.value)) {
      to.set_double_value(*real);
    } else if (const auto* flag = std::get_if<bool>(&annotation.value)) {
      to.set_bool_value(*flag);
    } else {
      to.set_string_value_iid(texts_.Intern(std::get<std::string>(annotation.value), [&packet] {
        return packet.mutable_interned_data()->add_debug_annotation_string_values();
      }));
    }
  }

  [[nodiscard]] TracePacket At(std::int64_t time_ns) const {
    TracePacket packet;
    packet.set_timestamp(static_cast<std::uint64_t>(time_ns - origin_ns_));
    return packet;
  }

  // A Trace is nothing but its packets one after the other: each is a Trace of one.
  void Emit(TracePacket& packet) {
    packet.set_trusted_packet_sequence_id(kSequence);
    packet.set_sequence_flags(first_ ? kStateCleared | kNeedsState : kNeedsState);
    first_ = false;
    one_.Clear();
    one_.add_packet()->Swap(&packet);
    one_.SerializeToString(&bytes_);
    out_.write(bytes_.data(), static_cast<std::streamsize>(bytes_.size()));
  }

  const Timeline& timeline_;
  std::ostream& out_;
  PerfettoSummary summary_;
  std::int64_t origin_ns_ = 0;
  std::vector<std::uint64_t> uuids_;  // by slice
  std::vector<Index> lanes_;          // further lanes: the track that each belongs to
  std::vector<std::pair<Index, std::uint64_t>> outgoing_, incoming_;
  Strings names_, categories_, annotation_names_, texts_;
  bool first_ = true;
  perfetto::Trace one_;
  std::string bytes_;
};

}  // namespace

Result<PerfettoSummary> WritePerfetto(const Timeline& timeline, std::ostream& out) {
  const PerfettoSummary summary = Writer(timeline, out).Write();
  out.flush();
  if (!out) {
    return EnvironmentError("the Perfetto trace could not be written: is the disk full?");
  }
  return summary;
}

}  // namespace reprise
