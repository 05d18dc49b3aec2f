// Clocks with offsets and drifts that were put in come out again.
#include "collectives/clock_exchange.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <thread>

#include "tests/collectives/spmd.h"

namespace reprise {
namespace {

using std::chrono::milliseconds;

// A host whose clock is off and runs at another speed.
struct Skewed {
  std::int64_t origin_ns = 0, offset_ns = 0;
  double drift = 0;
  [[nodiscard]] std::int64_t At(std::int64_t true_ns) const {
    return true_ns + offset_ns + std::llround(drift * static_cast<double>(true_ns - origin_ns));
  }
};

TEST(ClockExchange, FindsInjectedOffsetsAndDriftsToUnderAMillisecond) {
  constexpr int kRanks = 4;
  const std::int64_t begin_ns = MonotonicNs();
  const std::vector<Skewed> clocks = {{begin_ns, 7'000'000'000, 20e-6},
                                      {begin_ns, -3'600'000'000'000, -50e-6},
                                      {begin_ns, 1'234'567, 5e-3},  // 500 µs in 100 ms
                                      {begin_ns, 0, 0}};
  const std::vector<std::int32_t> leaders = {0, 1, 2};  // 3 shares a host
  std::vector<std::vector<ClockReading>> readings(kRanks);
  const auto communicators = CreateLocalCommunicators(kRanks);
  const Status ran = testing::OnEach(communicators, [&](Communicator& communicator) -> Status {
    const Skewed& mine = clocks[communicator.rank()];
    REPRISE_ASSIGN(ClockExchange exchange, ClockExchange::Create(communicator, leaders, [&mine] {
                     return mine.At(MonotonicNs());
                   }));
    for (int i = 0; i < 4; ++i) {
      std::this_thread::sleep_for(milliseconds(i == 0 ? 0 : 50));
      REPRISE_ASSIGN(const auto reading, exchange.Read());
      if (reading) {
        readings[communicator.rank()].push_back(*reading);
      }
    }
    return {};
  });
  ASSERT_TRUE(ran) << ran.error().message;
  const std::int64_t end_ns = MonotonicNs();
  EXPECT_TRUE(readings[3].empty());
  for (const int rank : {0, 1, 2}) {
    ASSERT_EQ(readings[rank].size(), 4U);
    const HostClock clock(readings[rank]);
    EXPECT_LT(clock.UncertaintyNs(begin_ns, end_ns), 1'000'000);
    for (std::int64_t t = begin_ns; t < end_ns; t += (end_ns - begin_ns) / 20) {
      const double error_ns =
          static_cast<double>(clock.ToReference(clocks[rank].At(t)) - clocks[0].At(t));
      EXPECT_LT(std::abs(error_ns), 1e6) << "rank " << rank;
      // Between the readings it is as good as it says, but for what drifts during a round.
      if (t >= begin_ns + 1'000'000 && clocks[rank].At(t) <= readings[rank].back().at_ns) {
        EXPECT_LE(std::abs(error_ns),
                  static_cast<double>(clock.UncertaintyNs(begin_ns, end_ns)) * 1.02 + 100)
            << "rank " << rank;
      }
    }
  }
  EXPECT_NEAR(HostClock(readings[2]).drift(), 5e-3, 1e-3);
}

TEST(ClockExchange, OneHostNeedsNoMessages) {
  const auto communicators = CreateLocalCommunicators(3);
  const Status ran = testing::OnEach(communicators, [](Communicator& communicator) -> Status {
    const std::vector<std::int32_t> leaders = HostLeaders(communicator);
    EXPECT_THAT(leaders, ::testing::ElementsAre(0));
    REPRISE_ASSIGN(ClockExchange exchange, ClockExchange::Create(communicator, leaders));
    REPRISE_ASSIGN(const auto reading, exchange.Read());
    EXPECT_EQ(reading.has_value(), communicator.rank() == 0);
    if (reading) {
      EXPECT_EQ(reading->offset_ns, 0);
      EXPECT_EQ(reading->uncertainty_ns, 0);
    }
    return {};
  });
  ASSERT_TRUE(ran) << ran.error().message;
}

}  // namespace
}  // namespace reprise
