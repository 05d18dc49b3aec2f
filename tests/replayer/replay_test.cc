// Whole replays in one process: ranks as threads, operations on the host backend.
#include "replayer/replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "run/run.h"
#include "tests/replayer/small_trace.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class ReplayTest : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ =
        fs::path(::testing::TempDir()) /
        ("replay_" + std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()));
    fs::remove_all(directory_);
    fs::create_directories(directory_ / "set");
  }
  void TearDown() override { fs::remove_all(directory_); }

  static ThreadTrace Example(std::int64_t bytes = 1024) {
    ThreadTrace trace;
    trace.AddOp("aten::mm", {TensorValue(0, {16, 16}), TensorValue(1, {16, 16})},
                {TensorValue(2, {16, 16})});
    trace.AddTransfer(AllReduceSpec(bytes, 0), TensorValue(2, {16, 16}));
    trace.AddOp("made::up", {TensorValue(2, {16, 16})}, {TensorValue(3, {16, 16})});
    trace.AddTransfer(AllReduceSpec(1024, 1), TensorValue(3, {16, 16}));
    return trace;
  }

  void WriteSet(const std::vector<ThreadTrace>& ranks) {
    std::vector<std::int32_t> all;
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      const Status status = WriteRank((directory_ / "set").string(), "small", ranks[r],
                                      static_cast<int>(r), static_cast<int>(ranks.size()));
      ASSERT_TRUE(status) << status.error().message;
      all.push_back(static_cast<std::int32_t>(r));
    }
    ASSERT_TRUE(WriteGroups((directory_ / "set").string(), {{"0", {"0", "default_pg", all}}}));
  }

  ReplayRequest Request() const {
    ReplayRequest request;
    request.set_directory = (directory_ / "set").string();
    request.run_directory = (directory_ / "run").string();
    request.options.backend = "host";
    request.options.warmup = 1;
    request.options.iterations = 2;
    return request;
  }

  // One thread a rank; each rank's error, empty for success.
  static std::vector<Error> Run(const ReplayRequest& request, int size,
                                std::int64_t* checked = nullptr) {
    auto communicators = CreateLocalCommunicators(size);
    std::vector<Error> errors(static_cast<std::size_t>(size));
    std::vector<std::thread> threads;
    for (int rank = 0; rank < size; ++rank) {
      threads.emplace_back([&, rank] {
        const auto outcome = Replay(request, *communicators[static_cast<std::size_t>(rank)]);
        if (!outcome) {
          errors[static_cast<std::size_t>(rank)] = outcome.error().error;
        } else if (rank == 0 && checked != nullptr) {
          *checked = outcome->checked_transfers;
        }
      });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    return errors;
  }

  fs::path directory_;
};

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
  trace.Add("aten::view", OpKind::kMetadata, 30'000'000);
  trace.AddOp("aten::mm", {TensorValue(0, {4, 4}), TensorValue(1, {4, 4})},
              {TensorValue(2, {4, 4})});
  WriteSet({trace});
  ReplayRequest request = Request();
  ASSERT_EQ(Run(request, 1)[0].message, "");
  const auto kept = ReadRun(request.run_directory);
  ASSERT_TRUE(kept);
  EXPECT_GE(kept->ranks[0].steps.back().duration_ns, 30'000'000);
  request.options.host_gaps = HostGaps::kDrop;
  request.run_directory += "_dropped";
  ASSERT_EQ(Run(request, 1)[0].message, "");
  const auto dropped = ReadRun(request.run_directory);
  ASSERT_TRUE(dropped);
  EXPECT_LT(dropped->ranks[0].steps.back().duration_ns, 30'000'000);
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
