// Parts of a set, replayed in one process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "replayer/plan/option_texts.h"
#include "replayer/plan/rank_mapping.h"
#include "replayer/plan/simulated_run.h"
#include "replayer/shared_set.h"
#include "tests/replayer/replay_fixture.h"

namespace reprise {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class PartTest : public ReplayTest {
 protected:
  static RunData Ran(const ReplayRequest& request, int size) {
    for (const Error& error : Run(request, size)) {
      EXPECT_EQ(error.message, "");
    }
    auto run = ReadRun(request.run_directory);
    EXPECT_TRUE(run) << run.error().message;
    return run ? std::move(*run) : RunData{};
  }
};

CommSpec SendTo(std::int32_t peer) {
  CommSpec spec = AllReduceSpec(256);
  spec.kind = CommKind::kSend;
  spec.peer = peer;
  return spec;
}

TEST_F(PartTest, ChosenRanksMeetAndOthersAreNotWaitedFor) {
  ThreadTrace sends = Example();
  sends.AddTransfer(SendTo(1), TensorValue(4, {64}), 3'000'000);
  ThreadTrace receives = Example();
  CommSpec recv = SendTo(0);
  recv.kind = CommKind::kRecv;
  receives.AddTransfer(recv, TensorValue(4, {64}), 3'000'000);
  WriteSet({sends, receives, Example()});
  ReplayRequest request = Request();
  request.options.part.ranks = {0, 2};
  request.options.check = true;
  const RunData run = Ran(request, 2);
  EXPECT_EQ(run.manifest.world_size, 2);
  EXPECT_EQ(run.manifest.options.at("ranks"), "0,2");
  const RankData& rank = run.ranks.at(0);
  ASSERT_EQ(rank.collectives.size(), 3U);
  EXPECT_EQ(rank.collectives[0].group_size, 2);
  EXPECT_TRUE(rank.collectives[2].group_size == 1);
  for (const NodeRecord& record : rank.records) {
    if (record.node_id == rank.collectives[2].node_id) {
      EXPECT_EQ(record.mode, ReplayMode::kTimed);
      EXPECT_GE(record.duration_ns, 3'000'000);
    }
  }
}

TEST_F(PartTest, OneTraceOnMoreRanksThanThereWere) {
  WriteSet({Example(), Example()});
  fs::remove(directory_ / "set" / "small.0.et");
  ReplayRequest request = Request();
  request.options.part.one_trace = true;
  request.options.check = true;
  const RunData run = Ran(request, 3);
  EXPECT_EQ(run.ranks.size(), 3U);
  EXPECT_EQ(run.ranks.at(2).collectives.at(0).group_size, 3);
  EXPECT_EQ(run.manifest.options.at("one_trace"), "1");
}

TEST_F(PartTest, StreamsBesideTheChosenOnesTakeTheirTime) {
  ThreadTrace trace;
  const std::uint64_t launch = trace.Add("cudaLaunchKernel", OpKind::kMetadata, 5'000).id;
  std::vector<std::uint64_t> kernels;
  for (const std::int64_t stream : {7, 8}) {
    Node& node = trace.AddOp("aten::mm", {TensorValue(0, {4, 4}), TensorValue(1, {4, 4})},
                             {TensorValue(stream, {4, 4})}, 20'000'000);
    node.actor = {Actor::Kind::kStream, stream, 0};
    node.device_work = DeviceWork{};
    node.deps = {{launch, EdgeReason::kLaunch, false}};
    kernels.push_back(node.id);
  }
  WriteSet({trace});
  ReplayRequest request = Request();
  ASSERT_TRUE(ParseStreams("0/7", request.options));
  const RunData run = Ran(request, 1);
  for (const NodeInfo& node : run.ranks.at(0).nodes) {
    if (node.node_id == kernels[0]) {
      EXPECT_EQ(node.mode, ReplayMode::kReal);
      EXPECT_TRUE(node.counts_for_coverage);
    } else if (node.node_id == kernels[1]) {
      EXPECT_EQ(node.mode, ReplayMode::kTimed);
      EXPECT_FALSE(node.counts_for_coverage);
    }
  }
  EXPECT_GE(run.ranks.at(0).steps.back().duration_ns, 20'000'000);
}

TEST_F(PartTest, ARangeThatHoldsOneSideOfATransferIsRefusedOnEveryRank) {
  ThreadTrace both = Example();
  both.ranges = {{"sync", 1, 0, both.end_ns, 0}};
  ThreadTrace first = Example();
  first.ranges = {{"sync", 1, 0, first.end_ns / 2, 0}};
  WriteSet({both, first});
  ReplayRequest request = Request();
  request.options.part.range = "sync";
  for (const Error& error : Run(request, 2)) {
    EXPECT_EQ(error.kind, ErrorKind::kBadInput);
    EXPECT_THAT(error.message, HasSubstr("all_reduce #1 is in what rank 0 replays"));
    EXPECT_THAT(error.message, HasSubstr("not in what rank 1 replays"));
  }
  request.options.part.ranks = {1};
  EXPECT_EQ(Run(request, 1)[0].message, "");
}

TEST_F(PartTest, ARangeWithTransfersIsReplayedOnEveryRank) {
  ThreadTrace trace = Example();
  trace.ranges = {{"sync", 1, 0, trace.end_ns / 2, 0}};
  WriteSet({trace, trace});
  ReplayRequest request = Request();
  request.options.part.range = "sync";
  request.options.check = true;
  const RunData run = Ran(request, 2);
  EXPECT_EQ(run.ranks.at(1).collectives.size(), 1U);
  EXPECT_EQ(run.manifest.options.at("range"), "sync");
  EXPECT_EQ(run.manifest.untraced_step_ns, -1);
}

TEST_F(PartTest, RanksAreToldOfTheSetThatOneOfThemReads) {
  WriteSet({Example(), Example(), Example()});
  const auto set = OpenChosen((directory_ / "set").string(), {});
  ASSERT_TRUE(set);
  const TraceSet told = DecodeSet(EncodeSet(*set));
  EXPECT_EQ(told.directory, set->directory);
  EXPECT_EQ(told.name, set->name);
  EXPECT_EQ(told.RankPaths(), set->RankPaths());
  EXPECT_EQ(told.Groups(), set->Groups());
  EXPECT_EQ(told.world_size, set->world_size);
  EXPECT_EQ(told.missing, set->missing);
  fs::remove(directory_ / "set" / "small.2.et");
  for (const Error& error : Run(Request(), 3)) {
    EXPECT_EQ(error.kind, ErrorKind::kBadInput);
    EXPECT_THAT(error.message, ::testing::StartsWith("rank 0: "));
    EXPECT_THAT(error.message, HasSubstr("no file of rank 2"));
  }
}

TEST_F(PartTest, NotesSayWhatWasReplayed) {
  WriteSet({Example(), Example()});
  ReplayRequest request = Request();
  request.options.part.ranks = {1};
  request.options.part.steps = {0};
  const auto outcome = SimulateRanks({request, request.options}, {});
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_THAT(outcome->notes, ElementsAre("ranks: 1 of 2", HasSubstr("steps 0: 8 of 8 nodes")));
}

}  // namespace
}  // namespace reprise
