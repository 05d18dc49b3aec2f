#include "core/timing/dry_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <ctime>

#include "core/nanoseconds.h"
#include "tests/timing/graph_builder.h"

namespace reprise {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(DryRun, FollowsTheOneEquation) {
  // 0 (5..15) → 1 after 2; 2 waits for both.
  const TimingGraph graph = MakeGraph({{5, 10, {}}, {2, 100, {0}}, {1, 3, {0, 1}}});
  const auto schedule = DryRun(graph);
  ASSERT_TRUE(schedule) << schedule.error().message;
  EXPECT_THAT(schedule->start_ns, ElementsAre(5, 17, 118));
  EXPECT_THAT(schedule->end_ns, ElementsAre(15, 117, 121));
  EXPECT_EQ(schedule->makespan_ns, 116);
  EXPECT_THAT(CriticalPath(graph, *schedule), ElementsAre(2, 1, 0));
}

TEST(DryRun, DependenciesMayComeInAnyOrderOfIndex) {
  const auto schedule = DryRun(MakeGraph({{1, 1, {2}}, {0, 4, {}}, {2, 2, {1}}}));
  ASSERT_TRUE(schedule);
  EXPECT_THAT(schedule->start_ns, ElementsAre(9, 0, 6));
}

TEST(DryRun, WhatTakesForEverIsRefused) {
  EXPECT_EQ(NsOf(1e300), kTooLongNs);
  EXPECT_EQ(NsOf(-1e300), kTooLongNs);
  EXPECT_EQ(NsOf(std::nan("")), kTooLongNs);
  EXPECT_EQ(NsOf(2.5e9), 2'500'000'000);
  EXPECT_EQ(NsOf(-2.4), -2);
  for (const std::vector<TestNode>& nodes :
       {std::vector<TestNode>{{0, 10, {}}, {0, NsOf(1e300), {0}}},
        {{0, 10, {}}, {INT64_MAX, 1, {0}}},
        {{0, INT64_MIN, {}}},
        {{0, 1, {}, 0, NsOf(1e16)}}}) {
    const auto schedule = DryRun(MakeGraph(nodes));
    ASSERT_FALSE(schedule);
    EXPECT_EQ(schedule.error().kind, ErrorKind::kBadInput);
    EXPECT_THAT(schedule.error().message, HasSubstr("takes over 11 days"));
  }
  std::vector<TestNode> chain(3, {0, kLongestNs / 2, {}});
  chain[1].deps = {0};
  chain[2].deps = {1};
  const auto schedule = DryRun(MakeGraph(chain));
  ASSERT_FALSE(schedule);
  EXPECT_THAT(schedule.error().message, HasSubstr("lasts over 11 days"));
  const auto all = DryRun(MakeGraph(std::vector<TestNode>(5'000, {0, kLongestNs, {}})));
  ASSERT_FALSE(all);
  EXPECT_THAT(all.error().message, HasSubstr("all nodes together"));
}

TEST(DryRun, NegativeTimesBeforeTheOriginAreKept) {
  // A later node's origin may lie before the first's; the maximum must not start from 0.
  const auto schedule = DryRun(MakeGraph({{-50, 10, {}}, {5, 1, {0}}}));
  ASSERT_TRUE(schedule);
  EXPECT_THAT(schedule->start_ns, ElementsAre(-50, -35));
  EXPECT_EQ(schedule->makespan_ns, 16);
}

TEST(DryRun, MatchedTransferMovesWhenItsLastMemberArrives) {
  // Two ranks: work 10 and 70, then an all_reduce (transfer 5 and 8), then work 1.
  const TimingGraph graph = MakeGraph({{0, 10, {}},
                                       {0, 70, {}},
                                       {2, 999, {0}, 0, 5},
                                       {3, 999, {1}, 0, 8},
                                       {0, 1, {2}},
                                       {0, 1, {3}}});
  const auto schedule = DryRun(graph);
  ASSERT_TRUE(schedule);
  EXPECT_THAT(schedule->start_ns, ElementsAre(0, 0, 12, 73, 78, 81));
  EXPECT_THAT(schedule->end_ns, ElementsAre(10, 70, 78, 81, 79, 82));
  EXPECT_THAT(CriticalPath(graph, *schedule), ElementsAre(5, 3, 1));
}

TEST(DryRun, CriticalPathCrossesRanksThroughTheLastArrival) {
  const TimingGraph graph =
      MakeGraph({{0, 10, {}}, {0, 70, {}}, {0, 0, {0}, 0, 5}, {0, 0, {1}, 0, 1}, {0, 100, {2}}});
  const auto schedule = DryRun(graph);
  ASSERT_TRUE(schedule);
  EXPECT_EQ(schedule->makespan_ns, 175);
  EXPECT_THAT(CriticalPath(graph, *schedule), ElementsAre(4, 2, 3, 1));
}

TEST(DryRun, EachMemberWaitsOnlyForTheArrivalsItNeeds) {
  // A send that ends on its own, and a receive that needs the send; the sender comes last.
  const auto send_recv = DryRun(MakeGraph({{100, 0, {}, 0, 7, ArrivalNeed::kOwn, true},
                                           {10, 0, {}, 0, 3, ArrivalNeed::kRoot, false},
                                           {0, 1, {1}}}));
  ASSERT_TRUE(send_recv);
  EXPECT_THAT(send_recv->end_ns, ElementsAre(107, 103, 104));
  // The receiver comes last: the sender does not wait for it.
  const auto late = DryRun(MakeGraph(
      {{1, 0, {}, 0, 7, ArrivalNeed::kOwn, true}, {10, 0, {}, 0, 3, ArrivalNeed::kRoot, false}}));
  ASSERT_TRUE(late);
  EXPECT_THAT(late->end_ns, ElementsAre(8, 13));
}

TEST(DryRun, SenderThatWaitsForNobodyBreaksNoFalseCycle) {
  // Rank 0 sends to 1 and then receives from it; rank 1 receives only after its own send, which
  // depends on nothing. With rendezvous sends this would be a cycle; with buffered ones it is not.
  const auto schedule =
      DryRun(MakeGraph({{0, 0, {}, 0, 1, ArrivalNeed::kOwn, true},     // rank 0 sends a
                        {0, 0, {0}, 1, 1, ArrivalNeed::kRoot, false},  // rank 0 receives b
                        {0, 0, {}, 1, 1, ArrivalNeed::kOwn, true},     // rank 1 sends b
                        {0, 0, {2}, 0, 1, ArrivalNeed::kRoot, false}}));
  ASSERT_TRUE(schedule) << schedule.error().message;
  EXPECT_THAT(schedule->end_ns, ElementsAre(1, 2, 1, 2));
}

TEST(DryRun, CycleIsAnErrorThatNamesItsNodes) {
  const auto result = DryRun(MakeGraph({{0, 1, {}}, {0, 1, {3, 0}}, {0, 1, {1}}, {0, 1, {2}}}));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::kBadInput);
  for (const char* name : {"node 1", "node 2", "node 3"}) {
    EXPECT_THAT(result.error().message, HasSubstr(name));
  }
  EXPECT_THAT(result.error().message, Not(HasSubstr("node 0")));
}

TEST(DryRun, CycleThroughMatchedTransfersIsAnError) {
  // Rank 0 does a then b, rank 1 does b then a.
  const auto result =
      DryRun(MakeGraph({{0, 0, {}, 0}, {0, 0, {0}, 1}, {0, 0, {}, 1}, {0, 0, {2}, 0}}));
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message, HasSubstr("its transfer's member node 3"));
  EXPECT_THAT(result.error().message, HasSubstr("its transfer's member node 1"));
}

TEST(DryRun, CyclesNameTheNodesOfTheFiles) {
  TimingGraph graph = MakeGraph({{0, 1, {1}}, {0, 1, {0}}});
  graph.names = {{3, 700}, {3, 900}};
  const auto result = DryRun(graph);
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message, HasSubstr("rank 3 node 700 waits for rank 3 node 900"));
  EXPECT_THAT(result.error().message, HasSubstr("remove one of these dependencies"));
}

TEST(DryRun, BadArraysAreRefused) {
  TimingGraph graph = MakeGraph({{0, 1, {}}, {0, 1, {0}}});
  graph.deps[0] = 9;
  ASSERT_FALSE(DryRun(graph));
  EXPECT_THAT(DryRun(graph).error().message, HasSubstr("node 1 depends on 9"));
  graph = MakeGraph({{0, 1, {}}});
  graph.delay_ns.clear();
  EXPECT_FALSE(DryRun(graph));
  EXPECT_FALSE(DryRun(TimingGraph{.dep_offset = {}}));  // even an empty graph has n+1 offsets
  const auto empty = DryRun(TimingGraph{.dep_offset = {0}});
  ASSERT_TRUE(empty);
  EXPECT_EQ(empty->makespan_ns, 0);
}

TEST(DryRun, HalvingAClassMovesTheStepByItsShareOfTheCriticalPath) {
  // Two threads joined at the end: 40 × (10 gemm + 5 other) against 300 of gemm in one piece.
  std::vector<TestNode> nodes;
  std::vector<bool> gemm;
  for (std::uint32_t i = 0; i < 80; ++i) {
    nodes.push_back({i == 0 ? 0 : 1, i % 2 == 0 ? 10 : 5, {}});
    if (i > 0) nodes.back().deps = {i - 1};
    gemm.push_back(i % 2 == 0);
  }
  nodes.push_back({0, 300, {}});
  gemm.push_back(true);
  nodes.push_back({0, 7, {79, 80}});
  gemm.push_back(false);
  TimingGraph graph = MakeGraph(nodes);
  const auto before = DryRun(graph);
  ASSERT_TRUE(before);
  std::int64_t on_path_ns = 0;
  for (const std::uint32_t i : CriticalPath(graph, *before)) {
    on_path_ns += gemm[i] ? graph.duration_ns[i] : 0;
  }
  EXPECT_EQ(on_path_ns, 400);
  for (std::size_t i = 0; i < graph.size(); ++i) {
    graph.duration_ns[i] /= gemm[i] ? 2 : 1;
  }
  const auto after = DryRun(graph);
  ASSERT_TRUE(after);
  EXPECT_EQ(before->makespan_ns - after->makespan_ns, on_path_ns / 2);
}

TEST(DryRun, MillionNodesTakeWellUnderASecond) {
  constexpr std::uint32_t kNodes = 1'000'000;
  std::vector<TestNode> nodes(kNodes);
  for (std::uint32_t i = 0; i < kNodes; ++i) {
    nodes[i] = {1, 2, {}};
    if (i > 0) nodes[i].deps.push_back(i - 1);
    if (i > 100) nodes[i].deps.push_back(i - 100);
  }
  const TimingGraph graph = MakeGraph(nodes);
  // Of the processor: what else runs does not count.
  const std::clock_t start = std::clock();
  const auto schedule = DryRun(graph);
  const double took_s = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  ASSERT_TRUE(schedule);
  EXPECT_EQ(schedule->makespan_ns, 3LL * kNodes - 1);
  RecordProperty("seconds", std::to_string(took_s));
  EXPECT_LT(took_s, 5);  // loose: sanitizers; 0.16 s without
}

}  // namespace
}  // namespace reprise
