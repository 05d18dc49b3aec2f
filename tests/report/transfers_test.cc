// Bandwidths of transfers, on one clock, on related clocks and without.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/analysis.h"
#include "report/run/clocks.h"
#include "report/values/report.h"
#include "tests/report/synthetic_run.h"

namespace reprise {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Optional;

TEST(Transfers, TimeCountsFromTheLastArrival) {
  const Report report = Analyze(MakeRun());
  ASSERT_EQ(report.collectives.size(), 1U);
  const CollectiveRow& row = report.collectives[0];
  EXPECT_EQ(row.name, "all_gather");
  EXPECT_EQ(row.group, "tp");
  EXPECT_EQ(row.group_size, 2);
  EXPECT_EQ(row.count, 1);
  EXPECT_EQ(row.bytes, 1'100);
  EXPECT_EQ(row.recorded_ns, 200);
  EXPECT_EQ(row.clock, TransferClock::kShared);
  EXPECT_THAT(row.replayed_ns, Optional(110));
  EXPECT_THAT(row.algbw_gb_per_s, Optional(10.0));
  EXPECT_THAT(row.busbw_gb_per_s, Optional(5.0));
}

TEST(Transfers, OneSlowIterationDoesNotRaiseTheSum) {
  RunData run = MakeRun();
  for (RankData& rank : run.ranks) {
    const std::vector<NodeRecord> records = rank.records;
    ASSERT_NE(records.front().iteration, records.back().iteration);  // there are two
    for (NodeRecord record : records) {
      if (record.iteration == records.front().iteration) {
        record.iteration += 10;
        record.start_ns += 1'000'000;
        record.duration_ns *= 100;
        rank.records.push_back(record);
      }
    }
  }
  EXPECT_EQ(Analyze(run).collectives[0].replayed_sum_ns, 110);
}

TEST(Transfers, OffsetsRelateTheClocksOfTwoHosts) {
  RunData run = MakeRun();
  run.ranks[1].host = "other";
  for (NodeRecord& record : run.ranks[1].records) {
    record.start_ns += 7'000;
  }
  run.ranks[0].facts.clock_readings = {{0, 0, 0}};
  run.ranks[1].facts.clock_readings = {{0, 7000, 1}, {1'000'000, 7000, 1}};
  RelateClocks(run);
  const Report report = Analyze(run);
  EXPECT_EQ(report.collectives[0].clock, TransferClock::kOffset);
  EXPECT_THAT(report.collectives[0].replayed_ns, Optional(110));
}

TEST(Transfers, UnrelatedClocksFallBackToTheShortestMemberAndSaySo) {
  RunData run = MakeRun();
  run.ranks[1].host = "other";
  for (NodeRecord& record : run.ranks[1].records) {
    record.start_ns -= 5'000'000;
  }
  const Report report = Analyze(run);
  EXPECT_EQ(report.collectives[0].clock, TransferClock::kShortest);
  EXPECT_THAT(report.collectives[0].replayed_ns, Optional(110));  // rank 1 came last: its own time
  EXPECT_THAT(report.notes, Contains(HasSubstr("shortest member")));
}

TEST(Transfers, MissingMemberIsNotTakenForTheLastArrival) {
  RunData run = MakeRun();
  run.ranks.pop_back();
  const Report report = Analyze(run);
  EXPECT_EQ(report.collectives[0].clock, TransferClock::kShortest);
  EXPECT_THAT(report.collectives[0].replayed_ns, Optional(160));
}

// Sends 7 to peer 1 with a receive there: the pair ends when the receive does.
TEST(Transfers, SendAndReceiveAreOneTransferInTwoRows) {
  RunData run = MakeRun();
  for (int rank = 0; rank < 2; ++rank) {
    RankData& data = run.ranks[rank];
    CollectiveInfo info = MakeTransfer(7, rank == 0 ? CommKind::kSend : CommKind::kRecv, 4'000, 4);
    info.spec.peer = 1 - rank;
    data.collectives.push_back(info);
    data.nodes.push_back(MakeNode(7, OpClass::kComm, OpKind::kComm, "pair", 0, 90));
    for (int i = 0; i < 4; ++i) {
      // The send returns at once; the receive comes 30 ns later and ends at 230.
      data.records.push_back(
          MakeRecord(7, i, ReplayMode::kReal, rank == 0 ? 0 : 30, rank == 0 ? 10 : 200));
    }
  }
  const Report report = Analyze(run);
  ASSERT_EQ(report.collectives.size(), 3U);
  for (const CollectiveRow& row : report.collectives) {
    if (row.name == "all_gather") {
      continue;
    }
    EXPECT_TRUE(row.name == "send" || row.name == "recv");
    EXPECT_EQ(row.bytes, 4'000);
    EXPECT_THAT(row.replayed_ns, Optional(200));
    EXPECT_THAT(row.busbw_gb_per_s, Optional(20.0));
  }
}

TEST(Transfers, EqualOnesShareARowAndOthersDoNot) {
  RunData run = MakeRun();
  for (RankData& data : run.ranks) {
    for (const auto& [id, bytes] : {std::pair{7, 1'100}, {8, 9'999}}) {
      CollectiveInfo info = MakeTransfer(id, CommKind::kAllGather, bytes, 2);
      info.spec.in_bytes = 0;
      info.spec.index = id;
      data.collectives.push_back(info);
      data.nodes.push_back(MakeNode(id, OpClass::kComm, OpKind::kComm, "group tp", 0, 400));
      for (int i = 0; i < 4; ++i) {
        data.records.push_back(MakeRecord(id, i, ReplayMode::kReal, 0, 220));
      }
    }
  }
  const Report report = Analyze(run);
  ASSERT_EQ(report.collectives.size(), 2U);
  EXPECT_EQ(report.collectives[0].bytes, 1'100);
  EXPECT_EQ(report.collectives[0].count, 2);
  EXPECT_THAT(report.collectives[0].replayed_ns, Optional(165));  // 3 x 110 and 3 x 220
  EXPECT_EQ(report.collectives[0].recorded_ns, 300);
  EXPECT_EQ(report.collectives[1].bytes, 9'999);
}

// A transfer that was only waited for moved no bytes: a bandwidth would be a lie.
TEST(Transfers, TimedOnesHaveNoBandwidth) {
  RunData run = MakeRun();
  for (RankData& data : run.ranks) {
    for (NodeRecord& record : data.records) {
      record.mode = record.node_id == 5 ? ReplayMode::kTimed : record.mode;
    }
  }
  const Report report = Analyze(run);
  EXPECT_EQ(report.collectives[0].mode, ReplayMode::kTimed);
  EXPECT_TRUE(report.collectives[0].replayed_ns);
  EXPECT_FALSE(report.collectives[0].algbw_gb_per_s);
  EXPECT_FALSE(report.collectives[0].busbw_gb_per_s);
}

}  // namespace
}  // namespace reprise
