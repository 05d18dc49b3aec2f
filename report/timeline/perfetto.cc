#include "report/timeline/perfetto.h"

#include <algorithm>
#include <ostream>
#include <string>
#include <unordered_map>
#include <vector>

#include "report/timeline/perfetto.pb.h"
#include "report/timeline/perfetto_layout.h"

namespace reprise {
namespace {

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
  Writer(const Timeline& timeline, std::ostream& out)
      : timeline_(timeline), out_(out), layout_(LayOut(timeline)) {}

  PerfettoSummary Write() {
    for (std::size_t i = 0; i < timeline_.tracks.size(); ++i) {
      WriteTrack(timeline_.tracks[i], UuidOf(i));
    }
    for (std::size_t i = 0; i < layout_.lanes.size(); ++i) {
      Timeline::Track lane = timeline_.tracks[layout_.lanes[i]];
      lane.kind = Timeline::TrackKind::kPlain;
      WriteTrack(lane, UuidOf(timeline_.tracks.size() + i));
    }
    for (const PerfettoEvent& event : layout_.events) {
      WriteEvent(event);
    }
    return {.slices = timeline_.slices.size(),
            .flows = layout_.outgoing.size(),
            .points = timeline_.points.size(),
            .backward_flows = layout_.backward_flows};
  }

 private:
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

  void WriteEvent(const PerfettoEvent& event) {
    TracePacket packet = At(event.time_ns);
    perfetto::TrackEvent& to = *packet.mutable_track_event();
    if (event.kind == PerfettoEvent::Kind::kPoint) {
      const Timeline::Point& point = timeline_.points[event.index];
      to.set_type(perfetto::TrackEvent::COUNTER);
      to.set_track_uuid(UuidOf(point.track));
      to.set_double_counter_value(point.value);
      Emit(packet);
      return;
    }
    to.set_track_uuid(UuidOf(layout_.track_of_slice[event.index]));
    if (event.kind == PerfettoEvent::Kind::kBegin) {
      FillBegin(event.index, packet);
      Emit(packet);
      if (timeline_.slices[event.index].duration_ns > 0) {
        return;
      }
      packet = At(event.time_ns);
      packet.mutable_track_event()->set_track_uuid(UuidOf(layout_.track_of_slice[event.index]));
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
    for (auto at = std::lower_bound(layout_.outgoing.begin(), layout_.outgoing.end(),
                                    std::pair(index, 0UL));
         at != layout_.outgoing.end() && at->first == index; ++at) {
      to.add_flow_ids(at->second);
    }
    for (auto at = std::lower_bound(layout_.incoming.begin(), layout_.incoming.end(),
                                    std::pair(index, 0UL));
         at != layout_.incoming.end() && at->first == index; ++at) {
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
    packet.set_timestamp(static_cast<std::uint64_t>(time_ns - layout_.origin_ns));
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
  const PerfettoLayout layout_;
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
