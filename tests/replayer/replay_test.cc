// Whole replays in one process: ranks as threads, operations on the host backend.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "replayer/plan/option_texts.h"
#include "tests/replayer/replay_fixture.h"

namespace reprise {
namespace {

using ::testing::HasSubstr;

TEST_F(ReplayTest, RecordsEveryNodeOfEveryIterationOnEveryRank) {
  WriteSet({Example(), Example()});
  ReplayRequest request = Request();
  for (const Error& error : Run(request, 2)) {
    ASSERT_EQ(error.message, "");
  }
  const auto run = ReadRun(request.run_directory);
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_TRUE(run->manifest.complete);
  EXPECT_EQ(run->manifest.world_size, 2);
  ASSERT_EQ(run->ranks.size(), 2U);
  for (const RankData& rank : run->ranks) {
    EXPECT_EQ(rank.steps.size(), 3U);  // one warm-up, two iterations
    // mm, surrogate, two transfers; three times each
    EXPECT_EQ(rank.records.size(), 12U);
    for (const NodeRecord& record : rank.records) {
      EXPECT_GE(record.duration_ns, 0);
    }
    EXPECT_EQ(rank.collectives.size(), 2U);
    EXPECT_FALSE(rank.edges.empty());
    int surrogates = 0;
    for (const NodeInfo& node : rank.nodes) {
      surrogates += node.mode == ReplayMode::kSurrogate ? 1 : 0;
    }
    EXPECT_EQ(surrogates, 1);
  }
}

TEST_F(ReplayTest, ChecksTransferredData) {
  WriteSet({Example(), Example(), Example()});
  ReplayRequest request = Request();
  request.options.check = true;
  std::int64_t checked = 0;
  for (const Error& error : Run(request, 3, &checked)) {
    ASSERT_EQ(error.message, "");
  }
  EXPECT_EQ(checked, 2 * 3);  // two transfers, three iterations
}

TEST_F(ReplayTest, KeptGapsTakeTheirTimeAndDroppedOnesDoNot) {
  ThreadTrace trace;
  constexpr std::int64_t kGapNs = 100'000'000;
  trace.Add("aten::view", OpKind::kMetadata, kGapNs);
  trace.AddOp("aten::mm", {TensorValue(0, {4, 4}), TensorValue(1, {4, 4})},
              {TensorValue(2, {4, 4})});
  WriteSet({trace});
  ReplayRequest request = Request();
  const auto shortest_step_ns = [](const RunData& run) {
    const auto& steps = run.ranks[0].steps;
    return std::min_element(
               steps.begin(), steps.end(),
               [](const auto& a, const auto& b) { return a.duration_ns < b.duration_ns; })
        ->duration_ns;
  };
  ASSERT_EQ(Run(request, 1)[0].message, "");
  const auto kept = ReadRun(request.run_directory);
  ASSERT_TRUE(kept);
  EXPECT_GE(shortest_step_ns(*kept), kGapNs);
  request.options.host_gaps = HostGaps::kDrop;
  request.run_directory += "_dropped";
  ASSERT_EQ(Run(request, 1)[0].message, "");
  const auto dropped = ReadRun(request.run_directory);
  ASSERT_TRUE(dropped);
  EXPECT_LT(shortest_step_ns(*dropped), kGapNs);
}

TEST_F(ReplayTest, StretchedOperationsLastAndTheThreadWaits) {
  ThreadTrace trace;
  for (std::int64_t k = 0; k < 4; ++k) {
    trace.AddOp("aten::mm", {TensorValue(0, {128, 128}), TensorValue(1, {128, 128})},
                {TensorValue(2 + k, {128, 128})});
  }
  WriteSet({trace});
  ReplayRequest request = Request();
  const auto replayed = [&request] {
    EXPECT_EQ(Run(request, 1)[0].message, "");
    auto run = ReadRun(request.run_directory);
    EXPECT_TRUE(run) << run.error().message;
    return std::move(run->ranks.at(0).records);
  };
  const auto shortest_ns = [](const std::vector<NodeRecord>& records) {
    return std::min_element(
               records.begin(), records.end(),
               [](const auto& a, const auto& b) { return a.duration_ns < b.duration_ns; })
        ->duration_ns;
  };
  const std::int64_t plain_ns = shortest_ns(replayed());
  ASSERT_TRUE(ParseStretch("gemm=100", request.options));
  request.run_directory += "_stretched";
  std::vector<NodeRecord> records = replayed();
  ASSERT_EQ(records.size(), 3 * 4U);
  EXPECT_GT(shortest_ns(records), 20 * plain_ns);
  std::sort(records.begin(), records.end(),
            [](const auto& a, const auto& b) { return a.start_ns < b.start_ns; });
  for (std::size_t k = 1; k < records.size(); ++k) {
    EXPECT_GE(records[k].start_ns, records[k - 1].start_ns + records[k - 1].duration_ns);
  }
}

TEST_F(ReplayTest, MismatchedRanksAreAnErrorOnEveryRankBeforeAnythingRuns) {
  WriteSet({Example(1024), Example(2048)});
  for (const Error& error : Run(Request(), 2)) {
    EXPECT_EQ(error.kind, ErrorKind::kBadInput);
    EXPECT_THAT(error.message, HasSubstr("1024"));
    EXPECT_THAT(error.message, HasSubstr("2048"));
  }
  EXPECT_FALSE(fs::exists(directory_ / "run"));
}

TEST_F(ReplayTest, WrongNumberOfRanksIsAUsageError) {
  WriteSet({Example(), Example()});
  for (const Error& error : Run(Request(), 3)) {
    EXPECT_EQ(error.kind, ErrorKind::kUsage);
    EXPECT_THAT(error.message, HasSubstr("mpirun -n 2"));
  }
}

TEST_F(ReplayTest, ADamagedRankFailsOnEveryRank) {
  WriteSet({Example(), Example()});
  fs::resize_file(directory_ / "set" / "small.1.et", 40);
  for (const Error& error : Run(Request(), 2)) {
    EXPECT_EQ(error.kind, ErrorKind::kBadInput);
    EXPECT_THAT(error.message, HasSubstr("small.1.et"));
  }
}

TEST_F(ReplayTest, AnExistingRunIsKeptUnlessForced) {
  WriteSet({Example()});
  ASSERT_EQ(Run(Request(), 1)[0].message, "");
  EXPECT_EQ(Run(Request(), 1)[0].kind, ErrorKind::kUsage);
  ReplayRequest forced = Request();
  forced.force = true;
  std::ofstream(directory_ / "run" / "notes.txt") << "mine";
  EXPECT_EQ(Run(forced, 1)[0].message, "");
  EXPECT_TRUE(fs::exists(directory_ / "run" / "notes.txt"));
}

TEST_F(ReplayTest, SkippedWorkIsCountedNotRun) {
  WriteSet({Example(), Example()});
  ReplayRequest request = Request();
  ASSERT_TRUE(ParseOpModes("skip", request.options));
  ASSERT_TRUE(ParseCommModes("timed", request.options));
  for (const Error& error : Run(request, 2)) {
    ASSERT_EQ(error.message, "");
  }
  const auto run = ReadRun(request.run_directory);
  ASSERT_TRUE(run);
  for (const NodeInfo& node : run->ranks[0].nodes) {
    if (node.counts_for_coverage) {
      EXPECT_EQ(node.mode,
                node.op_class == OpClass::kComm ? ReplayMode::kTimed : ReplayMode::kSkip);
    }
  }
  for (const NodeRecord& record : run->ranks[0].records) {
    EXPECT_EQ(record.mode, ReplayMode::kTimed);
    EXPECT_GE(record.duration_ns, 200'000);  // recorded transfer time, once all had arrived
  }
}

}  // namespace
}  // namespace reprise
