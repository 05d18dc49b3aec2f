// When a warm-up may end.
#include "telemetry/steadiness.h"

#include <gtest/gtest.h>

namespace reprise {
namespace {

constexpr std::int64_t kSecondNs = 1'000'000'000;

std::vector<Metric> Metrics() {
  return {{.id = 0, .name = "power", .unit = "watts"},
          {.id = 1, .name = "temperature", .unit = "celsius"},
          {.id = 2, .name = "memory_temperature", .unit = "celsius"}};
}

// Readings once a second, of a metric that changes by `slope` degrees a second.
void Feed(Steadiness& steadiness, std::int32_t metric, int from_s, int to_s, double slope) {
  for (int s = from_s; s < to_s; ++s) {
    const Sample sample{.metric = metric, .time_ns = s * kSecondNs, .value = 40 + slope * s};
    steadiness.Add({&sample, 1});
  }
}

TEST(Steadiness, NeedsTwoFullWindows) {
  Steadiness steadiness(Metrics(), 10 * kSecondNs);
  EXPECT_TRUE(steadiness.HasTemperatures());
  EXPECT_FALSE(steadiness.Settled(0));
  Feed(steadiness, 1, 0, 19, 0);
  EXPECT_FALSE(steadiness.Settled(19 * kSecondNs));
  Feed(steadiness, 1, 19, 21, 0);
  EXPECT_TRUE(steadiness.Settled(20 * kSecondNs));
}

TEST(Steadiness, ARisingTemperatureHoldsUp) {
  Steadiness steadiness(Metrics(), 10 * kSecondNs);
  Feed(steadiness, 1, 0, 60, 0);
  Feed(steadiness, 2, 0, 60, 0.06);  // 0.6 degrees from window to window
  EXPECT_FALSE(steadiness.Settled(59 * kSecondNs));
  Steadiness slow(Metrics(), 10 * kSecondNs);
  Feed(slow, 1, 0, 60, 0.04);
  Feed(slow, 2, 0, 60, -0.04);
  EXPECT_TRUE(slow.Settled(59 * kSecondNs));
}

TEST(Steadiness, ASilentSensorDoesNotHoldUpTheOthers) {
  Steadiness steadiness(Metrics(), 10 * kSecondNs);
  Feed(steadiness, 2, 0, 30, 1);
  Feed(steadiness, 1, 0, 100, 0);
  EXPECT_TRUE(steadiness.Settled(99 * kSecondNs));
  EXPECT_FALSE(steadiness.Settled(200 * kSecondNs));  // all silent
}

TEST(Steadiness, WithoutTemperaturesThereIsNothingToWaitFor) {
  const std::vector<Metric> metrics = {Metrics()[0]};
  Steadiness steadiness(metrics, 10 * kSecondNs);
  EXPECT_FALSE(steadiness.HasTemperatures());
  EXPECT_FALSE(steadiness.Settled(0));
}

}  // namespace
}  // namespace reprise
