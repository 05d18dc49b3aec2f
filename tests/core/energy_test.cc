#include <gtest/gtest.h>

#include <cmath>

#include "core/sampled_energy.h"

namespace reprise {
namespace {

std::vector<Sample> Ramp(double first, double step, int count) {
  std::vector<Sample> samples;
  for (int i = 0; i < count; ++i) {
    samples.push_back({.metric = 0, .time_ns = i * 1'000'000'000LL, .value = first + step * i});
  }
  return samples;
}

constexpr std::int64_t kSecond = 1'000'000'000;

TEST(Energy, CounterIsADifferenceInterpolatedToTheBounds) {
  Metric counter;
  counter.unit = "joules";
  const auto samples = Ramp(100, 10, 6);  // 10 W for 5 s
  EXPECT_DOUBLE_EQ(IntegrateEnergyJoules(MetricKind::kEnergy, samples, 0, 5 * kSecond), 50);
  EXPECT_DOUBLE_EQ(
      IntegrateEnergyJoules(MetricKind::kEnergy, samples, kSecond / 2, 3 * kSecond + kSecond / 2),
      30);
  // Beyond the samples nothing is made up.
  EXPECT_DOUBLE_EQ(IntegrateEnergyJoules(MetricKind::kEnergy, samples, -kSecond, 9 * kSecond), 50);
}

TEST(Energy, PowerIsATrapezoidHeldAtTheEnds) {
  const auto samples = Ramp(0, 2, 4);  // 0, 2, 4, 6 W
  EXPECT_DOUBLE_EQ(IntegrateEnergyJoules(MetricKind::kGauge, samples, 0, 3 * kSecond), 9);
  EXPECT_DOUBLE_EQ(
      IntegrateEnergyJoules(MetricKind::kGauge, samples, kSecond / 2, 2 * kSecond + kSecond / 2),
      6);
  EXPECT_DOUBLE_EQ(IntegrateEnergyJoules(MetricKind::kGauge, samples, 0, 4 * kSecond), 15);
}

TEST(Energy, NeedsTwoSamplesInsideAndPassesOverNaN) {
  EXPECT_TRUE(std::isnan(IntegrateEnergyJoules(MetricKind::kGauge, {}, 0, kSecond)));
  EXPECT_TRUE(std::isnan(IntegrateEnergyJoules(MetricKind::kGauge, Ramp(1, 0, 1), 0, kSecond)));
  EXPECT_TRUE(std::isnan(
      IntegrateEnergyJoules(MetricKind::kGauge, Ramp(1, 0, 9), kSecond + 1, 2 * kSecond - 1)));
  auto samples = Ramp(1, 0, 3);
  samples[1].value = std::nan("");
  EXPECT_DOUBLE_EQ(IntegrateEnergyJoules(MetricKind::kGauge, samples, 0, 2 * kSecond), 2);
}

}  // namespace
}  // namespace reprise
