// What the Perfetto writer wrote, read back with protobuf's own decoder.
#include "report/timeline/perfetto.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <sstream>

#include "report/timeline/perfetto.pb.h"

namespace reprise {
namespace {

using perfetto::TrackEvent;
using Kind = Timeline::TrackKind;

struct ReadSlice {
  std::string name, category;
  std::uint64_t uuid = 0;
  std::uint64_t begin_ns = 0;
  std::optional<std::uint64_t> end_ns;
  std::map<std::string, std::string> annotations;
  std::vector<std::uint64_t> flows_out, flows_in;
};

struct ReadBack {
  PerfettoSummary summary;
  std::map<std::uint64_t, perfetto::TrackDescriptor> tracks;
  std::vector<ReadSlice> slices;  // in order of their beginnings in the file
  std::vector<std::pair<std::uint64_t, double>> points;

  [[nodiscard]] const ReadSlice& Slice(const std::string& name) const {
    return *std::find_if(slices.begin(), slices.end(),
                         [&name](const ReadSlice& slice) { return slice.name == name; });
  }
};

using Texts = std::map<std::uint64_t, std::string>;
void Learn(const google::protobuf::RepeatedPtrField<perfetto::InternedText>& entries, Texts& to) {
  for (const perfetto::InternedText& entry : entries) {
    EXPECT_TRUE(to.emplace(entry.iid(), entry.text()).second) << "number used twice";
  }
}

std::string TextOf(const perfetto::DebugAnnotation& annotation, const Texts& texts) {
  switch (annotation.value_case()) {
    case perfetto::DebugAnnotation::kBoolValue:
      return annotation.bool_value() ? "true" : "false";
    case perfetto::DebugAnnotation::kIntValue:
      return std::to_string(annotation.int_value());
    case perfetto::DebugAnnotation::kDoubleValue:
      return std::to_string(annotation.double_value());
    default:
      return texts.at(annotation.string_value_iid());
  }
}

// As a viewer does: one pass, a stack of open slices per track, numbers of texts learnt on the way.
ReadBack WriteAndRead(const Timeline& timeline) {
  ReadBack back;
  std::ostringstream out;
  const auto summary = WritePerfetto(timeline, out);
  EXPECT_TRUE(summary);
  back.summary = summary.value_or(PerfettoSummary{});
  perfetto::Trace trace;
  EXPECT_TRUE(trace.ParseFromString(out.str()));
  Texts names, categories, keys, values;
  std::map<std::uint64_t, std::vector<std::size_t>> open;
  std::uint64_t last_ns = 0;
  EXPECT_EQ(trace.packet(0).sequence_flags() & 1, 1U) << "interned data must begin anew";
  for (const perfetto::TracePacket& packet : trace.packet()) {
    EXPECT_EQ(packet.trusted_packet_sequence_id(), 1U);
    Learn(packet.interned_data().event_names(), names);
    Learn(packet.interned_data().event_categories(), categories);
    Learn(packet.interned_data().debug_annotation_names(), keys);
    Learn(packet.interned_data().debug_annotation_string_values(), values);
    if (packet.has_track_descriptor()) {
      const auto& track = packet.track_descriptor();
      EXPECT_TRUE(track.parent_uuid() == 0 || back.tracks.contains(track.parent_uuid()));
      back.tracks[track.uuid()] = track;
      continue;
    }
    const TrackEvent& event = packet.track_event();
    EXPECT_TRUE(back.tracks.contains(event.track_uuid()));
    EXPECT_GE(packet.timestamp(), last_ns);
    last_ns = packet.timestamp();
    if (event.type() == TrackEvent::SLICE_BEGIN) {
      ReadSlice slice{.name = names.at(event.name_iid()),
                      .category = categories.at(event.category_iids(0)),
                      .uuid = event.track_uuid(),
                      .begin_ns = packet.timestamp()};
      for (const auto& annotation : event.debug_annotations()) {
        slice.annotations[keys.at(annotation.name_iid())] = TextOf(annotation, values);
      }
      slice.flows_out.assign(event.flow_ids().begin(), event.flow_ids().end());
      slice.flows_in.assign(event.terminating_flow_ids().begin(),
                            event.terminating_flow_ids().end());
      open[event.track_uuid()].push_back(back.slices.size());
      back.slices.push_back(std::move(slice));
    } else if (event.type() == TrackEvent::SLICE_END) {
      auto& stack = open[event.track_uuid()];
      if (stack.empty()) {
        ADD_FAILURE() << "an end without a beginning";
        continue;
      }
      back.slices[stack.back()].end_ns = packet.timestamp();
      stack.pop_back();
    } else {
      back.points.emplace_back(packet.timestamp(), event.double_counter_value());
    }
  }
  return back;
}

Timeline TwoThreads() {
  Timeline timeline;
  const auto rank =
      timeline.Add(Timeline::Track{.name = "rank 3", .kind = Kind::kProcess, .order = 3, .id = 3});
  timeline.Add(Timeline::Track{
      .name = "thread 7", .kind = Kind::kThread, .parent = rank, .order = 1, .id = 7});
  timeline.Add(Timeline::Track{.name = "group 0", .parent = rank, .order = 2});
  return timeline;
}

TEST(Perfetto, TracksSlicesAndAnnotations) {
  Timeline timeline = TwoThreads();
  timeline.Add(Timeline::Slice{.track = 1,
                               .start_ns = 100,
                               .duration_ns = 50,
                               .name = "aten::mm",
                               .category = "gemm",
                               .annotations = {{"node_id", std::int64_t{-5}},
                                               {"flops", 2.5},
                                               {"inferred", true},
                                               {"parent", std::string("aten::\"linear\"")}}});
  timeline.Add(Timeline::Slice{
      .track = 1, .start_ns = 150, .duration_ns = 10, .name = "aten::mm", .category = "gemm"});
  const ReadBack back = WriteAndRead(timeline);
  ASSERT_EQ(back.tracks.size(), 3U);
  EXPECT_EQ(back.tracks.at(1).process().pid(), 4);  // 0 is taken
  EXPECT_EQ(back.tracks.at(1).process().process_name(), "rank 3");
  EXPECT_EQ(back.tracks.at(2).thread().tid(), 7);
  EXPECT_EQ(back.tracks.at(2).thread().pid(), 4);
  EXPECT_EQ(back.tracks.at(3).name(), "group 0");
  EXPECT_EQ(back.tracks.at(3).sibling_order_rank(), 2);
  ASSERT_EQ(back.slices.size(), 2U);
  EXPECT_EQ(back.slices[0].begin_ns, 100U);
  EXPECT_EQ(back.slices[0].end_ns, 150U);
  EXPECT_EQ(back.slices[1].end_ns, 160U);
  EXPECT_EQ(back.slices[1].name, "aten::mm");
  EXPECT_EQ(back.slices[0].category, "gemm");
  const std::map<std::string, std::string> annotations = {{"node_id", "-5"},
                                                          {"flops", "2.500000"},
                                                          {"inferred", "true"},
                                                          {"parent", "aten::\"linear\""}};
  EXPECT_EQ(back.slices[0].annotations, annotations);
}

TEST(Perfetto, OverlappingSlicesGetLanesOfTheSameName) {
  Timeline timeline = TwoThreads();
  for (const std::int64_t start_ns : {0, 10, 20, 30}) {
    timeline.Add(Timeline::Slice{.track = 2,
                                 .start_ns = start_ns,
                                 .duration_ns = 20,
                                 .name = "t" + std::to_string(start_ns),
                                 .category = "comm"});
  }
  const ReadBack back = WriteAndRead(timeline);
  EXPECT_EQ(back.tracks.size(), 4U);  // one lane more
  EXPECT_EQ(back.tracks.at(4).name(), "group 0");
  EXPECT_EQ(back.tracks.at(4).parent_uuid(), 1U);
  EXPECT_NE(back.Slice("t0").uuid, back.Slice("t10").uuid);
  EXPECT_EQ(back.Slice("t0").uuid, back.Slice("t20").uuid);
  EXPECT_EQ(back.Slice("t10").uuid, back.Slice("t30").uuid);
  for (const ReadSlice& slice : back.slices) {
    EXPECT_EQ(slice.end_ns, slice.begin_ns + 20);
  }
}

TEST(Perfetto, FlowsIncludingThoseBetweenSlicesOfNoLength) {
  Timeline timeline = TwoThreads();
  const auto add = [&timeline](Timeline::Index track, std::int64_t start_ns,
                               std::int64_t duration_ns, const char* name) {
    return timeline.Add(Timeline::Slice{.track = track,
                                        .start_ns = start_ns,
                                        .duration_ns = duration_ns,
                                        .name = name,
                                        .category = "host"});
  };
  const auto issue = add(2, 50, 0, "issue");
  const auto next = add(1, 50, 0, "next");
  const auto last = add(1, 50, 5, "last");
  timeline.flows = {{issue, next}, {issue, last}, {next, last}, {last, issue}};
  const ReadBack back = WriteAndRead(timeline);
  EXPECT_EQ(back.summary.flows, 3U);
  EXPECT_EQ(back.summary.backward_flows, 1U);
  ASSERT_EQ(back.slices.size(), 3U);
  EXPECT_EQ(back.slices[0].name, "issue");  // an arrow's tail is in the file before its head
  EXPECT_EQ(back.slices[0].flows_out, (std::vector<std::uint64_t>{1, 2}));
  EXPECT_EQ(back.Slice("next").flows_in, (std::vector<std::uint64_t>{1}));
  EXPECT_EQ(back.Slice("last").flows_in, (std::vector<std::uint64_t>{2, 3}));
  EXPECT_EQ(back.Slice("issue").end_ns, 50U);
  EXPECT_EQ(back.Slice("last").end_ns, 55U);
}

TEST(Perfetto, CountersAndTimesBeforeZero) {
  Timeline timeline = TwoThreads();
  const auto counter = timeline.Add(
      Timeline::Track{.name = "power", .kind = Kind::kCounter, .parent = 0, .unit = "watts"});
  timeline.points = {{counter, -40, 12.5}, {counter, 60, 13}};
  timeline.Add(Timeline::Slice{
      .track = 1, .start_ns = 0, .duration_ns = 1, .name = "a", .category = "host"});
  const ReadBack back = WriteAndRead(timeline);
  EXPECT_EQ(back.tracks.at(counter + 1).counter().unit_name(), "watts");
  EXPECT_EQ(back.points, (std::vector<std::pair<std::uint64_t, double>>{{0, 12.5}, {100, 13}}));
  EXPECT_EQ(back.slices[0].begin_ns, 40U);
}

TEST(Perfetto, SaysWhereItCannotWrite) {
  std::ostringstream out;
  out.setstate(std::ios::badbit);
  EXPECT_FALSE(WritePerfetto(TwoThreads(), out));
}

}  // namespace
}  // namespace reprise
