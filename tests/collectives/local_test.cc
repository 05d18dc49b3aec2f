#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "core/clock.h"
#include "tests/collectives/spmd.h"

namespace reprise::testing {
namespace {

using ::testing::HasSubstr;

#define EXPECT_OK(status)                            \
  do {                                               \
    const Status outcome = (status);                 \
    EXPECT_TRUE(outcome) << outcome.error().message; \
  } while (false)

class OnRanks : public ::testing::TestWithParam<int> {};

TEST_P(OnRanks, EveryCollectiveIsExact) {
  EXPECT_OK(OnThreads(GetParam(), [](Communicator& c) { return ConformanceBody(c, true); }));
}
TEST_P(OnRanks, GroupsOverlap) { EXPECT_OK(OnThreads(GetParam(), OverlappingGroupsBody)); }
TEST_P(OnRanks, MessagesKeepTheirOrder) { EXPECT_OK(OnThreads(GetParam(), OrderedMessagesBody)); }
TEST_P(OnRanks, BarrierWaitsForAll) { EXPECT_OK(OnThreads(GetParam(), BarrierBody)); }
TEST_P(OnRanks, RanksCoordinate) { EXPECT_OK(OnThreads(GetParam(), CoordinationBody)); }
TEST_P(OnRanks, BadSpecsAreRefused) { EXPECT_OK(OnThreads(GetParam(), BadSpecsBody)); }
TEST_P(OnRanks, NotesArrive) { EXPECT_OK(OnThreads(GetParam(), NotesBody)); }
TEST_P(OnRanks, PlansAreExchanged) { EXPECT_OK(OnThreads(GetParam(), PlansBody)); }
INSTANTIATE_TEST_SUITE_P(Local, OnRanks, ::testing::Range(1, 9));

// One rank gives up while the others are in a transfer, in coordination, or about to start.
TEST(LocalAbort, EndsWhateverTheOthersDo) {
  constexpr int kRanks = 4;
  const std::int64_t start_ns = MonotonicNs();
  std::vector<std::string> seen(kRanks);
  const Status outcome = OnThreads(kRanks, [&](Communicator& c) -> Status {
    REPRISE_ASSIGN(const auto group, c.CreateGroup({0, 1, 2, 3}));
    std::vector<std::byte> memory(64);
    const CommSpec spec{
        .kind = CommKind::kAllReduce, .dtype = DType::kFloat32, .in_bytes = 64, .out_bytes = 64};
    Status status;
    if (c.rank() == 3) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      c.RaiseAbort(Error{ErrorKind::kEnvironment, "disk full"});
      c.RaiseAbort("a second reason");
    } else if (c.rank() == 2) {
      status = c.Barrier();
    } else {
      REPRISE_ASSIGN(const auto transfer, group->Start(spec, memory, memory));
      status = Await(*transfer);
    }
    seen[static_cast<std::size_t>(c.rank())] =
        status ? c.PollAbort().value().message : status.error().message;
    return group->Start(spec, memory, memory).map([](auto&&) {});
  });
  EXPECT_LT(MonotonicNs() - start_ns, 30'000'000'000);  // on a busy machine
  EXPECT_THAT(seen, ::testing::Each("rank 3: disk full"));
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().kind, ErrorKind::kEnvironment);
}

TEST(LocalTransport, TellsWhenRanksStartDifferentThings) {
  const Status outcome = OnThreads(2, [](Communicator& c) -> Status {
    REPRISE_ASSIGN(const auto group, c.CreateGroup({0, 1}));
    std::vector<std::byte> in(64);
    std::vector<std::byte> out(64);
    const std::int64_t bytes = c.rank() == 0 ? 64 : 32;
    REPRISE_ASSIGN(const auto transfer, group->Start({.kind = CommKind::kAllReduce,
                                                      .dtype = DType::kFloat32,
                                                      .in_bytes = bytes,
                                                      .out_bytes = bytes},
                                                     in, out));
    return Await(*transfer);
  });
  ASSERT_FALSE(outcome);
  EXPECT_THAT(outcome.error().message, HasSubstr("in_bytes 64 vs 32"));
}

// A send is not done before its recv: what needs buffering does not pass here.
TEST(LocalTransport, SendsAreNotBuffered) {
  auto ranks = CreateLocalCommunicators(2);
  const auto sender = ranks[0]->CreateGroup({0, 1}).value();
  const auto receiver = ranks[1]->CreateGroup({0, 1}).value();
  std::vector<std::byte> data(8, std::byte{5});
  std::vector<std::byte> got(8);
  const auto sending =
      sender->Start({.kind = CommKind::kSend, .in_bytes = 8, .peer = 1}, data, {}).value();
  EXPECT_FALSE(sending->Test().value());
  const auto receiving =
      receiver->Start({.kind = CommKind::kRecv, .out_bytes = 8, .peer = 0}, {}, got).value();
  EXPECT_TRUE(sending->Test().value());
  EXPECT_TRUE(receiving->Test().value());
  EXPECT_EQ(got, data);
}

TEST(LocalTransport, DroppedTransferFailsOnTheOthers) {
  auto ranks = CreateLocalCommunicators(2);
  const auto a = ranks[0]->CreateGroup({0, 1}).value();
  const auto b = ranks[1]->CreateGroup({0, 1}).value();
  const CommSpec spec{.kind = CommKind::kBarrier};
  { const auto dropped = a->Start(spec, {}, {}).value(); }
  const auto transfer = b->Start(spec, {}, {}).value();
  EXPECT_FALSE(transfer->Test());
}

}  // namespace
}  // namespace reprise::testing
