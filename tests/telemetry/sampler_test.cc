#include "telemetry/sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>
#include <thread>

#include "core/clock.h"
#include "tests/telemetry/fixture_root.h"

namespace reprise {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Pair;

bool HasSource(const Sampler& sampler, const std::string& source) {
  return std::any_of(sampler.metrics().begin(), sampler.metrics().end(),
                     [&](const MetricSpec& metric) { return metric.source == source; });
}

TEST(Sampler, ModelStandsInOnlyWhereNothingMeasuresPower) {
  const FixtureRoot root;
  root.WriteAll();
  const auto measured = Sampler::Open({.sources = {.root = root.path()}});
  EXPECT_TRUE(HasSource(*measured, "rapl"));
  EXPECT_FALSE(HasSource(*measured, "model"));
  EXPECT_THAT(measured->unavailable(), Contains(Pair("model", HasSubstr("not needed"))));

  std::filesystem::remove_all(root.At("/sys"));
  const auto modelled = Sampler::Open({.sources = {.root = root.path()}});
  EXPECT_TRUE(HasSource(*modelled, "model"));
  EXPECT_THAT(modelled->unavailable(), Contains(Pair("rapl", HasSubstr("no RAPL zones"))));
}

TEST(Sampler, NothingAtAllIsNoError) {
  const FixtureRoot root;
  const auto sampler = Sampler::Open({.sources = {.root = root.path()}});
  EXPECT_TRUE(sampler->metrics().empty());
  EXPECT_EQ(sampler->unavailable().size(), BuiltinSources().size());
  sampler->Start([](const std::vector<Sample>&) {});
  sampler->Stop();
}

TEST(Sampler, SamplesAtItsPeriodUntilStopped) {
  const FixtureRoot root;
  root.WriteAll();
  const auto sampler = Sampler::Open({.period_ns = 5'000'000, .sources = {.root = root.path()}});
  std::vector<std::vector<Sample>> ticks;
  const std::int64_t begin_ns = MonotonicNs();
  sampler->Start([&](const std::vector<Sample>& samples) { ticks.push_back(samples); });
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  sampler->Stop();
  const std::int64_t end_ns = MonotonicNs();
  sampler->Stop();
  // Every period is either a tick or a missed one; plus the last sample of Stop.
  const auto missed = static_cast<std::int64_t>(sampler->diagnostics().CountOf("missed_tick"));
  const auto count = static_cast<std::int64_t>(ticks.size());
  EXPECT_GE(count + missed, 200 / 5);
  EXPECT_LE(count + missed, (end_ns - begin_ns) / 5'000'000 + 2);
  ASSERT_GE(count, 3);
  std::int64_t last_ns = begin_ns;
  for (const auto& samples : ticks) {
    ASSERT_FALSE(samples.empty());
    EXPECT_GE(samples.front().time_ns, last_ns);
    for (const Sample& sample : samples) {
      ASSERT_LT(static_cast<std::size_t>(sample.metric), sampler->metrics().size());
      EXPECT_FALSE(std::isnan(sample.value));
    }
    last_ns = samples.back().time_ns;
  }
  EXPECT_LE(last_ns, end_ns);
}

TEST(Sampler, FailedReadingsAreCountedAndLeftOut) {
  const FixtureRoot root;
  root.WriteAll();
  const auto sampler = Sampler::Open({.period_ns = 2'000'000, .sources = {.root = root.path()}});
  root.Write("/sys/class/thermal/thermal_zone0/temp", "");
  std::int32_t zone = -1;
  for (std::size_t i = 0; i < sampler->metrics().size(); ++i) {
    zone = sampler->metrics()[i].source == "thermal" ? static_cast<std::int32_t>(i) : zone;
  }
  ASSERT_GE(zone, 0);
  std::atomic<bool> seen = false;
  sampler->Start([&](const std::vector<Sample>& samples) {
    for (const Sample& sample : samples) {
      seen = seen || sample.metric == zone;
    }
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  sampler->Stop();
  EXPECT_FALSE(seen);
  EXPECT_GT(sampler->diagnostics().CountOf("failed_reading"), 0U);
  EXPECT_THAT(sampler->diagnostics().Snapshot().at("failed_reading").examples,
              Contains("thermal temperature of acpitz"));
}

std::vector<Sample> Ramp(double first, double step, int count) {
  std::vector<Sample> samples;
  for (int i = 0; i < count; ++i) {
    samples.push_back({.metric = 0, .time_ns = i * 1'000'000'000LL, .value = first + step * i});
  }
  return samples;
}

constexpr std::int64_t kSecond = 1'000'000'000;

TEST(EnergyJoules, CounterIsADifferenceInterpolatedToTheBounds) {
  MetricSpec counter;
  counter.unit = "joules";
  counter.is_counter = true;
  const auto samples = Ramp(100, 10, 6);  // 10 W for 5 s
  EXPECT_DOUBLE_EQ(EnergyJoules(counter, samples, 0, 5 * kSecond), 50);
  EXPECT_DOUBLE_EQ(EnergyJoules(counter, samples, kSecond / 2, 3 * kSecond + kSecond / 2), 30);
  // Beyond the samples nothing is made up.
  EXPECT_DOUBLE_EQ(EnergyJoules(counter, samples, -kSecond, 9 * kSecond), 50);
}

TEST(EnergyJoules, PowerIsATrapezoidHeldAtTheEnds) {
  MetricSpec power;
  power.unit = "watts";
  const auto samples = Ramp(0, 2, 4);  // 0, 2, 4, 6 W
  EXPECT_DOUBLE_EQ(EnergyJoules(power, samples, 0, 3 * kSecond), 9);
  EXPECT_DOUBLE_EQ(EnergyJoules(power, samples, kSecond / 2, 2 * kSecond + kSecond / 2), 6);
  EXPECT_DOUBLE_EQ(EnergyJoules(power, samples, 0, 4 * kSecond), 15);
}

TEST(EnergyJoules, NeedsTwoSamplesInsideAndPassesOverNaN) {
  MetricSpec power;
  power.unit = "watts";
  EXPECT_TRUE(std::isnan(EnergyJoules(power, {}, 0, kSecond)));
  EXPECT_TRUE(std::isnan(EnergyJoules(power, Ramp(1, 0, 1), 0, kSecond)));
  EXPECT_TRUE(std::isnan(EnergyJoules(power, Ramp(1, 0, 9), kSecond + 1, 2 * kSecond - 1)));
  auto samples = Ramp(1, 0, 3);
  samples[1].value = std::nan("");
  EXPECT_DOUBLE_EQ(EnergyJoules(power, samples, 0, 2 * kSecond), 2);
}

}  // namespace
}  // namespace reprise
