#include "replayer/plan/timing_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/replayer/two_rank_set.h"

namespace reprise {
namespace {

using ::testing::HasSubstr;

TimingRow CheckRank(const TestRank& rank) {
  const Graph graph = rank.Build();
  const Graph* const graphs[] = {&graph};
  const auto row = CheckTiming(TimingOfRank(graph), graphs, false);
  EXPECT_TRUE(row) << row.error().message;
  return *row;
}

TimingRow CheckSet(const TestRank& first, const TestRank& second) {
  const Graph a = first.Build();
  const Graph b = second.Build();
  const Graph* const graphs[] = {&a, &b};
  const TimingTrace trace = TimingOfSet(graphs);
  EXPECT_EQ(trace.matched_transfers, 4U);
  const auto row = CheckTiming(trace, graphs, true);
  EXPECT_TRUE(row) << row.error().message;
  return *row;
}

TEST(TimingCheck, RankReproducesItsRecording) {
  const TimingRow row = CheckRank(MakeTestRank(1));
  EXPECT_EQ(row.rank, 1);
  EXPECT_EQ(row.recorded_ns, 1000 * kMicrosecondNs);
  EXPECT_EQ(row.dry_run_ns, 1000 * kMicrosecondNs);
  EXPECT_EQ(row.error, 0);
  EXPECT_EQ(row.worst_start_ns, 0);
  EXPECT_EQ(row.violated_edges, 0U);
  EXPECT_EQ(row.unexplained_ns, 0);
  EXPECT_EQ(row.wakeup_ns, 15 * kMicrosecondNs);
  EXPECT_TRUE(row.Ok());
}

TEST(TimingCheck, SetReproducesTheRecordingOfItsSlowestRank) {
  const TimingRow row = CheckSet(MakeTestRank(0), MakeTestRank(1));
  EXPECT_FALSE(row.rank.has_value());
  EXPECT_EQ(row.recorded_ns, 1000 * kMicrosecondNs);
  EXPECT_EQ(row.dry_run_ns, 1000 * kMicrosecondNs);
  EXPECT_EQ(row.worst_start_ns, 0);
  EXPECT_TRUE(row.Ok());
}

TEST(TimingCheck, SetMovesWithTheLastArrivalRanksAloneDoNot) {
  TestRank late = MakeTestRank(1);
  late[kForward].duration_ns += 100 * kMicrosecondNs;
  EXPECT_EQ(CheckSet(MakeTestRank(0), late).dry_run_ns, 1100 * kMicrosecondNs);
  TestRank early = MakeTestRank(0);
  early[kForward].duration_ns += 100 * kMicrosecondNs;  // still before rank 1
  EXPECT_EQ(CheckSet(early, MakeTestRank(1)).dry_run_ns, 1000 * kMicrosecondNs);
  EXPECT_EQ(CheckRank(early).dry_run_ns, (1000 + 100) * kMicrosecondNs);
}

TEST(TimingCheck, DryRunTakesNothingFromRecordedStarts) {
  TestRank rank = MakeTestRank(0);
  rank[kOptimizer].delay_ns += 200 * kMicrosecondNs;
  const TimingRow row = CheckRank(rank);
  EXPECT_NEAR(row.error, 200.0 / 1000, 1e-9);
  EXPECT_EQ(row.worst_start_ns, 200 * kMicrosecondNs);
  EXPECT_FALSE(row.Ok());
}

TEST(TimingCheck, RemovingAnEdgeRaisesUnexplained) {
  TestRank rank = MakeTestRank(0);
  Node& wait = rank[kWaitNode];
  wait.deps.pop_back();
  wait.start_ns = 182 * kMicrosecondNs;
  wait.delay_ns = 2 * kMicrosecondNs;
  wait.duration_ns = (615 - 182) * kMicrosecondNs;
  const TimingRow row = CheckRank(rank);
  // With delays, any set of edges reproduces the recording. Only the unexplained time shows the
  // loss.
  EXPECT_EQ(row.error, 0);
  EXPECT_EQ(row.unexplained_ns, 433 * kMicrosecondNs);
  EXPECT_FALSE(row.Ok());
  ASSERT_FALSE(row.details.empty());
  EXPECT_THAT(row.details[0], HasSubstr("c10d wait (rank 0 node 4)"));
  EXPECT_THAT(row.details[0], HasSubstr("c10d::allreduce_ (rank 0 node 2)"));
}

TEST(TimingCheck, WaitMayBeWrittenWithItsRecordedStart) {
  TestRank rank = MakeTestRank(0);
  // The start is the call of the wait; the duration is the rest.
  rank[kWaitNode].start_ns = 185 * kMicrosecondNs;
  const TimingRow row = CheckRank(rank);
  EXPECT_TRUE(row.Ok());
  EXPECT_EQ(row.worst_start_ns, 0);
}

TEST(TimingCheck, ViolatedEdgeFailsAndIsNamed) {
  TestRank rank = MakeTestRank(0);
  rank[kOptimizer].start_ns -= 10 * kMicrosecondNs;
  rank[kOptimizer].delay_ns -= 10 * kMicrosecondNs;
  const TimingRow row = CheckRank(rank);
  EXPECT_EQ(row.violated_edges, 1U);
  EXPECT_FALSE(row.Ok());
  ASSERT_FALSE(row.details.empty());
  EXPECT_THAT(row.details[0], HasSubstr("violated edge: c10d wait"));
}

TEST(TimingCheck, ClocksAreMappedToRankZeros) {
  // Rank 1's clock is 7 ms behind; its base says so only together with its offset.
  TestRank shifted = MakeTestRank(1);
  shifted.metadata.base_ns -= 7'000'000;
  shifted.metadata.clock_offset_ns = 7'000'000;
  shifted.metadata.clock_uncertainty_ns = 3'000;
  const TimingRow row = CheckSet(MakeTestRank(0), shifted);
  EXPECT_TRUE(row.Ok());
  EXPECT_EQ(row.worst_start_ns, 0);
  EXPECT_EQ(row.recorded_ns, 1000 * kMicrosecondNs);
  EXPECT_EQ(row.clock_uncertainty_ns, 3'000);
  shifted.metadata.clock_offset_ns = 0;  // then rank 1 seems to arrive first
  EXPECT_GT(CheckSet(MakeTestRank(0), shifted).error, 0.01);
}

TEST(TimingCheck, BasesOfRanksAreLinedUp) {
  TestRank later = MakeTestRank(1);
  later.metadata.base_ns += 50 * kMicrosecondNs;
  for (Node& node : later.nodes) {
    node.start_ns -= 50 * kMicrosecondNs;
    if (node.deps.empty()) node.delay_ns -= 50 * kMicrosecondNs;
  }
  const TimingRow row = CheckSet(MakeTestRank(0), later);
  EXPECT_TRUE(row.Ok());
  EXPECT_EQ(row.worst_start_ns, 0);
}

TEST(TimingCheck, StepsAreKeptApartAndErrorsDoNotCancel) {
  // Two steps of 100 us with 40 us between them; one runs 10 us long, the other 10 us short.
  TestRank rank;
  rank.metadata.steps = {{"ProfilerStep#1", 0, 100 * kMicrosecondNs},
                         {"ProfilerStep#2", 140 * kMicrosecondNs, 100 * kMicrosecondNs}};
  rank.nodes = {MakeNode(1, "a", 0, 50, {}), MakeNode(2, "b", 60, 100, {{1, EdgeReason::kThread}}),
                MakeNode(3, "c", 140, 180, {{2, EdgeReason::kThread}}),
                MakeNode(4, "d", 190, 240, {{3, EdgeReason::kThread}})};
  rank[2].delay_ns = (10 + 10) * kMicrosecondNs;
  rank[3].delay_ns = 40 * kMicrosecondNs;
  rank[4].delay_ns = (10 - 10) * kMicrosecondNs;
  rank[3].step = rank[4].step = 1;
  const TimingRow row = CheckRank(rank);
  // The second step lasts from the end of the first.
  EXPECT_EQ(row.recorded_ns, 240 * kMicrosecondNs);
  EXPECT_EQ(row.dry_run_ns, 240 * kMicrosecondNs);
  EXPECT_NEAR(row.error, 20.0 / 240, 1e-12);
}

TEST(TimingCheck, TraceWithoutStepsIsOneStep) {
  TestRank rank = MakeTestRank(0);
  rank.metadata.steps.clear();
  for (Node& node : rank.nodes) node.step = -1;
  EXPECT_EQ(CheckRank(rank).recorded_ns, 690 * kMicrosecondNs);
}

TEST(TimingCheck, UnknownGroupsAreTimedAlone) {
  TestRank first = MakeTestRank(0);
  TestRank second = MakeTestRank(1);
  for (TestRank* rank : {&first, &second}) {
    (*rank)[kAllReduceNode].comm->certainty = GroupCertainty::kUnknown;
  }
  const Graph a = first.Build();
  const Graph b = second.Build();
  const Graph* const graphs[] = {&a, &b};
  const TimingTrace trace = TimingOfSet(graphs);
  EXPECT_EQ(trace.unmatched_transfers, 2U);
  EXPECT_EQ(trace.matched_transfers, 2U);
  EXPECT_EQ(CheckTiming(trace, graphs, true)->error, 0);
}

TEST(TimingCheck, DeadlockBetweenRanksIsAnErrorNotAHang) {
  // Rank 1 receives before the all_reduce, rank 0 sends after it.
  TestRank second = MakeTestRank(1);
  second[kAllReduceNode].deps = {{kPeerNode, EdgeReason::kThread}};
  second[kPeerNode].deps = {{kForward, EdgeReason::kLaunch}};
  const TestRank first = MakeTestRank(0);
  const Graph a = first.Build();
  const Graph b = second.Build();
  const Graph* const graphs[] = {&a, &b};
  const auto row = CheckTiming(TimingOfSet(graphs), graphs, true);
  ASSERT_FALSE(row);
  EXPECT_EQ(row.error().kind, ErrorKind::kBadInput);
  EXPECT_THAT(row.error().message, HasSubstr("cycle"));
}

}  // namespace
}  // namespace reprise
