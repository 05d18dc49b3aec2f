#include "core/timing/transfer.h"

#include <gtest/gtest.h>

namespace reprise {
namespace {

TEST(SplitTransfer, PerMemberFromTheLastArrival) {
  const auto parts = SplitTransfer(
      std::vector<TransferMember>{{10, 100, CommKind::kAllReduce}, {60, 90, CommKind::kAllReduce}});
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(parts[0].transfer_ns, 40);
  EXPECT_EQ(parts[1].transfer_ns, 30);
  EXPECT_EQ(parts[0].need, ArrivalNeed::kAll);
}

TEST(SplitTransfer, ASimulatorsSendWaitsForNobody) {
  const auto parts = SplitTransfer(std::vector<TransferMember>{
      {0, 0, CommKind::kSend, true, SendEnd::kSent}, {0, 0, CommKind::kRecv, false}});
  EXPECT_EQ(parts[0].need, ArrivalNeed::kOwn);
  EXPECT_EQ(parts[1].need, ArrivalNeed::kAll);
}

TEST(SplitTransfer, ReceiveCountsFromTheLaterOfTheTwoStarts) {
  const auto late_send = SplitTransfer(
      std::vector<TransferMember>{{50, 70, CommKind::kSend, true}, {10, 65, CommKind::kRecv}});
  EXPECT_EQ(late_send[1].transfer_ns, 15);
  const auto late_recv = SplitTransfer(
      std::vector<TransferMember>{{5, 20, CommKind::kSend, true}, {40, 65, CommKind::kRecv}});
  EXPECT_EQ(late_recv[0].need, ArrivalNeed::kOwn);  // ended before the receiver came: buffered
  EXPECT_EQ(late_recv[0].transfer_ns, 15);
  EXPECT_EQ(late_recv[1].transfer_ns, 25);
}

TEST(SplitTransfer, RootOfABroadcastMayLeaveEarly) {
  const auto parts = SplitTransfer(std::vector<TransferMember>{{0, 10, CommKind::kBroadcast, true},
                                                               {5, 12, CommKind::kBroadcast},
                                                               {30, 33, CommKind::kBroadcast}});
  EXPECT_EQ(parts[0].need, ArrivalNeed::kOwn);
  EXPECT_EQ(parts[0].transfer_ns, 10);
  EXPECT_EQ(parts[1].need, ArrivalNeed::kRoot);
  EXPECT_EQ(parts[1].transfer_ns, 7);
  EXPECT_EQ(parts[2].need, ArrivalNeed::kAll);
  EXPECT_EQ(parts[2].transfer_ns, 3);
}

TEST(SplitTransfer, ContradictionStaysVisibleAsNegativeTransfer) {
  const auto parts = SplitTransfer(
      std::vector<TransferMember>{{50, 70, CommKind::kSend, true}, {10, 45, CommKind::kRecv}});
  EXPECT_EQ(parts[1].transfer_ns, -5);
  const auto collective = SplitTransfer(
      std::vector<TransferMember>{{0, 10, CommKind::kAllReduce}, {20, 30, CommKind::kAllReduce}});
  EXPECT_EQ(collective[0].transfer_ns, -10);
}

}  // namespace
}  // namespace reprise
