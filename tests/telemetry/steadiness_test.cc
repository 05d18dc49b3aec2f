// When a warm-up may end.
#include "report/telemetry/steadiness.h"

#include <gtest/gtest.h>

namespace reprise {
namespace {

constexpr std::int64_t kSecondNs = 1'000'000'000;

class SteadinessTest : public ::testing::Test {
 protected:
  // Readings once a second, of a metric that changes by `slope` degrees a second.
  void Feed(std::int32_t metric, int from_s, int to_s, double slope) {
    for (int s = from_s; s < to_s; ++s) {
      const Sample sample{.metric = metric, .time_ns = s * kSecondNs, .value = 40 + slope * s};
      recent_.Add({&sample, 1});
    }
  }
  [[nodiscard]] bool Settled(int at_s) const {
    return HasSettled(metrics_, recent_, at_s * kSecondNs, 10 * kSecondNs);
  }

  std::vector<Metric> metrics_ = {{.id = 0, .name = "power", .unit = "watts"},
                                  {.id = 1, .name = "temperature", .unit = "celsius"},
                                  {.id = 2, .name = "memory_temperature", .unit = "celsius"}};
  RecentSamples recent_{20 * kSecondNs};
};

TEST_F(SteadinessTest, NeedsTwoFullWindows) {
  EXPECT_TRUE(HasTemperatures(metrics_));
  EXPECT_FALSE(Settled(0));
  Feed(1, 0, 19, 0);
  EXPECT_FALSE(Settled(19));
  Feed(1, 19, 21, 0);
  EXPECT_TRUE(Settled(20));
}

TEST_F(SteadinessTest, ARisingTemperatureHoldsUp) {
  Feed(1, 0, 60, 0);
  Feed(2, 0, 60, 0.06);  // 0.6 degrees from window to window
  EXPECT_FALSE(Settled(59));
}

TEST_F(SteadinessTest, SlowChangesDoNot) {
  Feed(1, 0, 60, 0.04);
  Feed(2, 0, 60, -0.04);
  EXPECT_TRUE(Settled(59));
}

TEST_F(SteadinessTest, ASilentSensorDoesNotHoldUpTheOthers) {
  Feed(2, 0, 30, 1);
  Feed(1, 0, 100, 0);
  EXPECT_TRUE(Settled(99));
  EXPECT_FALSE(Settled(200));  // all silent
}

TEST_F(SteadinessTest, WithoutTemperaturesThereIsNothingToWaitFor) {
  metrics_.resize(1);
  EXPECT_FALSE(HasTemperatures(metrics_));
  Feed(0, 0, 60, 0);
  EXPECT_FALSE(Settled(59));
}

TEST(RecentSamples, KeepsAWindowAndOneBefore) {
  RecentSamples recent(10);
  EXPECT_FALSE(recent.Last(0).has_value());
  EXPECT_TRUE(recent.Of(0).empty());
  for (std::int64_t t = 0; t <= 100; t += 4) {
    const Sample sample{.metric = 0, .time_ns = t, .value = 1};
    recent.Add({&sample, 1});
  }
  EXPECT_EQ(recent.Of(0).front().time_ns, 88);  // 92, 96, 100 are of the last 10
  EXPECT_EQ(recent.Last(0)->time_ns, 100);
}

}  // namespace
}  // namespace reprise
