#include "replayer/plan/selection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/timing/dry_run.h"
#include "kernels/kernel.h"
#include "replayer/engine/replay_options.h"
#include "replayer/plan/graph_steps.h"
#include "replayer/plan/plan.h"
#include "replayer/plan/timing_graph.h"
#include "tests/replayer/small_trace.h"

namespace reprise {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::int64_t kUs = 1000;

// Times in µs; thread 1 unless said otherwise. Delays are made from the recorded times.
class Recorder {
 public:
  Node& Host(std::uint64_t id, std::int64_t start_us, std::int64_t duration_us,
             std::vector<Dependency> deps, std::int64_t thread = 1) {
    Node node;
    node.id = id;
    node.name = "aten::mm";
    node.kind = OpKind::kMetadata;
    node.actor = {Actor::Kind::kThread, thread, -1};
    node.step = 0;
    return Append(std::move(node), start_us, duration_us, std::move(deps));
  }
  Node& Device(std::uint64_t id, std::int64_t start_us, std::int64_t duration_us,
               std::vector<Dependency> deps, std::int64_t stream = 7) {
    Node& node = Host(id, start_us, duration_us, std::move(deps));
    node.actor = {Actor::Kind::kStream, stream, 0};
    node.device_work = DeviceWork{};
    node.kind = OpKind::kWork;
    return node;
  }
  Graph Build(std::vector<Range> ranges, const std::vector<Step>& steps = {}) {
    TraceMetadata metadata;
    metadata.ranges = std::move(ranges);
    metadata.steps = steps.empty() ? std::vector<Step>{{"ProfilerStep#1", 0, 1000 * kUs}} : steps;
    auto graph = Graph::Build(std::move(metadata), nodes_);
    EXPECT_TRUE(graph) << graph.error().message;
    return std::move(*graph);
  }

 private:
  Node& Append(Node node, std::int64_t start_us, std::int64_t duration_us,
               std::vector<Dependency> deps) {
    node.start_ns = start_us * kUs;
    node.duration_ns = duration_us * kUs;
    node.delay_ns = node.start_ns;
    std::int64_t latest_ns = INT64_MIN;
    for (const Dependency& dep : deps) {
      for (const Node& from : nodes_) {
        latest_ns = from.id == dep.node_id ? std::max(latest_ns, from.start_ns + from.duration_ns)
                                           : latest_ns;
      }
    }
    node.delay_ns = deps.empty() ? node.start_ns : node.start_ns - latest_ns;
    node.deps = std::move(deps);
    nodes_.push_back(std::move(node));
    return nodes_.back();
  }
  std::vector<Node> nodes_;
};

Dependency After(std::uint64_t id, EdgeReason reason = EdgeReason::kThread) {
  return {id, reason, false};
}

Range Marked(std::string name, std::int64_t start_us, std::int64_t duration_us,
             std::int32_t step = 0) {
  return {std::move(name), 1, start_us * kUs, duration_us * kUs, step};
}

std::vector<std::uint64_t> Ids(const Graph& graph) {
  std::vector<std::uint64_t> ids;
  for (Graph::Index i = 0; i < graph.size(); ++i) {
    ids.push_back(graph.id(i));
  }
  return ids;
}

Graph Selected(const Graph& graph, const PartOptions& part, Diagnostics& diagnostics) {
  const auto selection = SelectNodes(graph, part);
  EXPECT_TRUE(selection) << selection.error().message;
  auto extracted = Extract(graph, *selection, diagnostics);
  EXPECT_TRUE(extracted) << extracted.error().message;
  return std::move(*extracted);
}

// The equation on the selection, with nothing but its edges, durations and delays.
std::int64_t DryEndNs(const Graph& graph) {
  const Graph* const pointer = &graph;
  const TimingTrace timing = TimingOfSet({&pointer, 1});
  const auto schedule = DryRun(timing.graph);
  EXPECT_TRUE(schedule);
  return *std::max_element(schedule->end_ns.begin(), schedule->end_ns.end());
}

// Two occurrences of "forward" with a kernel each, and one node between.
Graph TwoForwards() {
  Recorder recorder;
  recorder.Host(1, 0, 10, {});
  recorder.Host(2, 20, 10, {After(1)});                                // in forward:0
  recorder.Device(3, 40, 30, {After(2, EdgeReason::kLaunch)});         // outlives it
  recorder.Host(4, 60, 10, {After(2)});                                // between
  recorder.Host(5, 105, 10, {After(4), After(3, EdgeReason::kSync)});  // in forward:1
  recorder.Device(6, 120, 20, {After(5, EdgeReason::kLaunch), After(3, EdgeReason::kStream)});
  recorder.Host(7, 300, 10, {After(5)});
  return recorder.Build(
      {Marked("forward", 15, 30), Marked("forward", 100, 30), Marked("backward", 290, 50)});
}

TEST(Selection, RangeHoldsItsHostNodesAndWhatTheyLaunch) {
  const Graph graph = TwoForwards();
  Diagnostics diagnostics;
  const Graph part = Selected(graph, {.range = "forward"}, diagnostics);
  EXPECT_THAT(Ids(part), ElementsAre(2, 3, 5, 6));
  EXPECT_EQ(diagnostics.CountOf("edge_cut"), 2U);  // 1 → 2, 4 → 5
  ASSERT_EQ(part.metadata().steps.size(), 2U);
  EXPECT_EQ(part.metadata().steps[0].duration_ns, 55 * kUs);  // 15 to the kernel's end at 70
  EXPECT_EQ(part.metadata().steps[1].duration_ns, 40 * kUs);  // 100 to 140
  EXPECT_EQ(part.metadata().steps[1].start_ns, 70 * kUs);     // right after
  EXPECT_EQ(part.start_ns(*part.FindId(5)), 75 * kUs);
  EXPECT_EQ(part.step(*part.FindId(6)), 1);
  EXPECT_EQ(RecordedStepNs(part), (55 + 40) / 2.0 * kUs);
}

TEST(Selection, TheEquationReproducesTheSelectionsTime) {
  const Graph graph = TwoForwards();
  Diagnostics diagnostics;
  const Graph part = Selected(graph, {.range = "forward"}, diagnostics);
  EXPECT_EQ(DryEndNs(part), (15 + 55 + 40) * kUs);
}

TEST(Selection, OneOccurrence) {
  const Graph graph = TwoForwards();
  Diagnostics diagnostics;
  const Graph part = Selected(graph, {.range = "forward:1"}, diagnostics);
  EXPECT_THAT(Ids(part), ElementsAre(5, 6));
  EXPECT_EQ(part.deps(0).size(), 0U);
  EXPECT_EQ(DryEndNs(part), 140 * kUs);  // a single piece stays where it was
  const auto plan = BuildPlan(part, {}, FindBuiltinKernel);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->work[0].gap_ns, 5 * kUs);  // after the range's start
  EXPECT_EQ(plan->frame.tail_ns, 0);
}

TEST(Selection, AWaitKeepsTheTimeThatACutEdgeHeldItBack) {
  Recorder recorder;
  recorder.Device(1, 0, 90, {});
  recorder.Host(2, 10, 5, {});
  Node& wait = recorder.Host(3, 20, 2, {After(2), After(1, EdgeReason::kSync)});
  wait.kind = OpKind::kWait;
  wait.delay_ns = 0;  // starts when the kernel has ended
  recorder.Host(4, 95, 5, {After(3)}).delay_ns = 3 * kUs;
  const Graph graph = recorder.Build({Marked("part", 5, 95)});
  Diagnostics diagnostics;
  const Graph part = Selected(graph, {.range = "part"}, diagnostics);
  EXPECT_THAT(Ids(part), ElementsAre(2, 3, 4));
  EXPECT_EQ(part.delay_ns(*part.FindId(3)), 75 * kUs);  // 15 to 90
  EXPECT_EQ(DryEndNs(part), 100 * kUs);
}

TEST(Selection, AutogradsThreadBelongsToWhoCalledIt) {
  Recorder recorder;
  recorder.Host(1, 0, 10, {});
  recorder.Host(2, 30, 10, {After(1, EdgeReason::kFwdBwd)}, 2);
  recorder.Host(3, 35, 5, {}, 3);  // some other thread
  recorder.Host(4, 60, 10, {After(1)});
  const Graph graph = recorder.Build({Marked("backward", 20, 30)});
  Diagnostics diagnostics;
  EXPECT_THAT(Ids(Selected(graph, {.range = "backward"}, diagnostics)), ElementsAre(2));
}

TEST(Selection, RecursionIsPartOfTheOuterOccurrence) {
  Recorder recorder;
  recorder.Host(1, 10, 5, {});
  recorder.Host(2, 30, 5, {After(1)});
  const Graph graph = recorder.Build({Marked("f", 0, 100), Marked("f", 20, 20)});
  const auto selection = SelectNodes(graph, {.range = "f"});
  ASSERT_TRUE(selection);
  EXPECT_EQ(selection->pieces.size(), 1U);
  EXPECT_THAT(selection->piece, ElementsAre(0, 0));
}

Graph ThreeSteps() {
  Recorder recorder;
  recorder.Host(1, 0, 10, {});
  recorder.Host(2, 100, 10, {After(1)}).step = 1;
  recorder.Host(3, 205, 10, {After(2)}).step = 2;
  recorder.Host(4, 250, 10, {After(3)}).step = 2;
  return recorder.Build({Marked("f", 0, 50), Marked("f", 200, 30, 2)},
                        {{"ProfilerStep#4", 0, 90 * kUs},
                         {"ProfilerStep#5", 90 * kUs, 110 * kUs},
                         {"ProfilerStep#6", 200 * kUs, 100 * kUs}});
}

TEST(Selection, StepsMoveTogether) {
  const Graph graph = ThreeSteps();
  Diagnostics diagnostics;
  const Graph part = Selected(graph, {.steps = {0, 2}}, diagnostics);
  EXPECT_THAT(Ids(part), ElementsAre(1, 3, 4));
  ASSERT_EQ(part.metadata().steps.size(), 2U);
  EXPECT_EQ(part.metadata().steps[1].name, "ProfilerStep#6");
  EXPECT_EQ(part.metadata().steps[1].start_ns, 90 * kUs);
  EXPECT_EQ(part.metadata().steps[1].duration_ns, 100 * kUs);
  EXPECT_EQ(part.step(2), 1);
  EXPECT_EQ(DryEndNs(part), 150 * kUs);
  EXPECT_EQ(diagnostics.CountOf("edge_cut"), 1U);
}

TEST(Selection, NeighbouringStepsStayAsTheyWere) {
  const Graph graph = ThreeSteps();
  Diagnostics diagnostics;
  const Graph part = Selected(graph, {.steps = {1, 2}}, diagnostics);
  EXPECT_EQ(part.delay_ns(*part.FindId(3)), 95 * kUs);
  EXPECT_EQ(part.deps(1).size(), 1U);
  EXPECT_EQ(diagnostics.CountOf("edge_cut"), 1U);
}

TEST(Selection, RangeWithinSteps) {
  const Graph graph = ThreeSteps();
  Diagnostics diagnostics;
  EXPECT_THAT(Ids(Selected(graph, {.range = "f"}, diagnostics)), ElementsAre(1, 3));
  EXPECT_THAT(Ids(Selected(graph, {.steps = {1, 2}, .range = "f"}, diagnostics)), ElementsAre(3));
}

TEST(Selection, WhatIsNotThereIsAUsageErrorThatLists) {
  const Graph graph = TwoForwards();
  const auto error = [&](const PartOptions& part) {
    const auto selection = SelectNodes(graph, part);
    EXPECT_FALSE(selection);
    EXPECT_EQ(selection.error().kind, ErrorKind::kUsage);
    return selection.error().message;
  };
  EXPECT_THAT(error({.range = "optimizer"}), HasSubstr("backward, forward"));
  EXPECT_THAT(error({.range = "forward:2"}), HasSubstr(":0 to :1"));
  EXPECT_THAT(error({.steps = {3}}), HasSubstr("0 (ProfilerStep#1)"));
  EXPECT_THAT(CheckStreams(graph, {{0, 9}}).error().message, HasSubstr("there are: 0/7"));
  EXPECT_TRUE(CheckStreams(graph, {{0, 9}, {0, 7}}));
}

TEST(Selection, OtherStreamsKeepTheirTimeAndDoNotCount) {
  Recorder recorder;
  recorder.Host(1, 0, 10, {});
  recorder.Device(2, 10, 30, {After(1, EdgeReason::kLaunch)}, 7);
  recorder.Device(3, 10, 40, {After(1, EdgeReason::kLaunch)}, 8);
  const Graph graph = recorder.Build({});
  ReplayOptions options;
  options.streams = {{0, 7}};
  const auto plan = BuildPlan(graph, options, FindBuiltinKernel);
  ASSERT_TRUE(plan);
  EXPECT_TRUE(plan->work[*graph.FindId(2)].counts);
  const Work& other = plan->work[*graph.FindId(3)];
  EXPECT_FALSE(other.counts);
  EXPECT_EQ(other.mode, ReplayMode::kTimed);
  EXPECT_EQ(other.host_ns, 40 * kUs);
}

}  // namespace
}  // namespace reprise
