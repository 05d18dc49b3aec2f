// A trace set read as a run.
#include "replayer/plan/recorded_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/replayer/replay_fixture.h"

namespace reprise {
namespace {

using ::testing::HasSubstr;

class RecordedRunTest : public ReplayTest {
 protected:
  [[nodiscard]] RunData Recorded(const std::string& path) const {
    auto run = ReadRecordedRun(path);
    EXPECT_TRUE(run) << run.error().message;
    return run ? std::move(*run) : RunData{};
  }
  [[nodiscard]] std::string Set() const { return Request().set_directory; }
};

TEST_F(RecordedRunTest, EveryNodeIsWhereItWasRecorded) {
  const ThreadTrace trace = Example();
  WriteSet({trace, trace});
  const RunData run = Recorded(Set());
  EXPECT_EQ(run.manifest.options.at("mode"), kRecordedMode);
  EXPECT_TRUE(run.manifest.complete);
  ASSERT_EQ(run.ranks.size(), 2U);
  for (const RankData& rank : run.ranks) {
    ASSERT_EQ(rank.nodes.size(), trace.nodes.size());
    ASSERT_EQ(rank.records.size(), trace.nodes.size());
    ASSERT_EQ(rank.origins.size(), trace.nodes.size());
    for (std::size_t i = 0; i < rank.nodes.size(); ++i) {
      EXPECT_EQ(rank.records[i].node_id, rank.nodes[i].node_id);
      EXPECT_EQ(rank.records[i].duration_ns, rank.nodes[i].recorded_elapsed_ns);
      EXPECT_GE(rank.records[i].start_ns, rank.nodes[i].recorded_start_ns);  // waits: later
    }
    ASSERT_EQ(rank.steps.size(), 1U);
    EXPECT_EQ(rank.steps[0].duration_ns, *rank.facts.recorded_step_ns);
    ASSERT_EQ(rank.collectives.size(), 2U);
    for (const CollectiveInfo& transfer : rank.collectives) {
      EXPECT_EQ(transfer.group_size, 2);
    }
  }
}

TEST_F(RecordedRunTest, AFileIsASetOfOneRank) {
  WriteSet({Example(), Example()});
  const RunData set = Recorded(Set());
  const RunData file = Recorded(Set() + "/small.1.et");
  ASSERT_EQ(file.ranks.size(), 1U);
  EXPECT_EQ(file.ranks[0].rank, 1);
  EXPECT_EQ(file.ranks[0].nodes.size(), set.ranks[1].nodes.size());
}

TEST_F(RecordedRunTest, RanksThatAreNotThereAreNamed) {
  WriteSet({Example(), Example(), Example()});
  std::filesystem::remove(Set() + "/small.1.et");
  const RunData run = Recorded(Set());
  EXPECT_EQ(run.ranks.size(), 2U);
  ASSERT_EQ(run.notes.size(), 1U);
  EXPECT_THAT(run.notes[0], HasSubstr("no file of rank 1"));
}

TEST_F(RecordedRunTest, ASetWithoutTimesIsNoRecording) {
  ThreadTrace trace = Example();
  for (Node& node : trace.nodes) {
    node.duration_ns = 0;
  }
  WriteSet({trace, trace});
  const auto run = ReadRecordedRun(Set());
  ASSERT_FALSE(run);
  EXPECT_EQ(run.error().kind, ErrorKind::kBadInput);
  EXPECT_THAT(run.error().message, HasSubstr("reprise simulate"));
}

}  // namespace
}  // namespace reprise
