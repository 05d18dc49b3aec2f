#include "replayer/plan/trace_timeline.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/replayer/small_trace.h"

namespace reprise {
namespace {

std::string TextOf(const Timeline::Slice& slice, const std::string& name) {
  for (const Timeline::Annotation& annotation : slice.annotations) {
    if (annotation.name == name) {
      return std::get<std::string>(annotation.value);
    }
  }
  return "";
}

Graph MakeGraph(std::int32_t rank, std::int64_t base_ns) {
  ThreadTrace trace;
  trace.AddOp("aten::mm", {TensorValue(0, {4, 8}), TensorValue(1, {8, 2})},
              {TensorValue(2, {4, 2})});
  CommSpec spec;
  spec.group = "0";
  trace.AddTransfer(spec, TensorValue(2, {4, 2}));
  TraceMetadata metadata;
  metadata.rank = rank;
  metadata.world_size = 2;
  metadata.base_ns = base_ns;
  metadata.steps = {{"ProfilerStep#5", 0, 400'000}};
  auto graph = Graph::Build(metadata, trace.nodes);
  EXPECT_TRUE(graph);
  return std::move(*graph);
}

TEST(TraceTimeline, RanksOnOneClock) {
  const Graph a = MakeGraph(0, 1'000'000), b = MakeGraph(1, 1'005'000);
  const Graph* const graphs[] = {&a, &b};
  const auto timeline = TimelineOfTrace(graphs, {{"0", {"0", "default_pg", {0, 1}}}}, std::nullopt);
  ASSERT_TRUE(timeline);
  std::vector<std::string> names;
  for (const Timeline::Track& track : timeline->tracks) {
    names.push_back(track.name);
  }
  EXPECT_EQ(names,
            (std::vector<std::string>{"rank 0", "steps", "thread 1", "group 0 (default_pg)",
                                      "rank 1", "steps", "thread 1", "group 0 (default_pg)"}));
  ASSERT_EQ(timeline->slices.size(), 10U);  // a step, mm, issue, transfer, wait: twice
  const Timeline::Slice& mm = timeline->slices[1];
  const Timeline::Slice& other = timeline->slices[6];
  EXPECT_EQ(mm.name, "aten::mm");
  EXPECT_EQ(mm.category, "gemm");
  EXPECT_EQ(TextOf(mm, "inputs"), "float32[4, 8], float32[8, 2]");
  EXPECT_EQ(other.name, "aten::mm");
  EXPECT_EQ(other.start_ns - mm.start_ns, 5'000);
}

TEST(TraceTimeline, WaitsLastFromTheirCallAndArrowsSayWhy) {
  const Graph graph = MakeGraph(0, 0);
  const Graph* const graphs[] = {&graph};
  const auto timeline = TimelineOfTrace(graphs, {}, std::nullopt);
  ASSERT_TRUE(timeline);
  // launch and comm_wait; order on the thread has no arrow.
  ASSERT_EQ(timeline->flows.size(), 2U);
  const Timeline::Slice& transfer = timeline->slices[timeline->flows[0].to];
  const Timeline::Slice& wait = timeline->slices[timeline->flows[1].to];
  EXPECT_EQ(transfer.name, "gloo:all_reduce");
  EXPECT_EQ(TextOf(transfer, "transfer"), "all_reduce");
  EXPECT_EQ(TextOf(wait, "waits_for").substr(0, 10), "comm_wait ");
  EXPECT_EQ(&timeline->slices[timeline->flows[1].from], &transfer);
  // What was left of the wait comes after the transfer's end, wherever the call began.
  const std::int64_t begin_ns = std::max(wait.start_ns, transfer.start_ns + transfer.duration_ns);
  EXPECT_EQ(wait.start_ns + wait.duration_ns, begin_ns + 1'000);
}

TEST(TraceTimeline, OneStep) {
  const Graph graph = MakeGraph(0, 0);
  const Graph* const graphs[] = {&graph};
  EXPECT_EQ(TimelineOfTrace(graphs, {}, 0)->slices.size(), 5U);
  EXPECT_TRUE(TimelineOfTrace(graphs, {}, 1)->slices.empty());
}

}  // namespace
}  // namespace reprise
