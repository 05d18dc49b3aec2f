#include "report/telemetry/sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

#include "core/clock.h"
#include "tests/telemetry/fixture_root.h"
#include "tests/telemetry/stand_in.h"

namespace reprise {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Pair;

bool HasSource(const Sampler& sampler, const std::string& source) {
  return std::any_of(sampler.metrics().begin(), sampler.metrics().end(),
                     [&](const Metric& metric) { return metric.source == source; });
}

bool HoldsWithinAMinute(const std::function<bool()>& condition) {
  const std::int64_t deadline_ns = MonotonicNs() + 60'000'000'000;
  while (!condition() && MonotonicNs() < deadline_ns) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return condition();
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

TEST(Sampler, PowerOfAGpuIsNoMeasureOfTheCpus) {
  const FixtureRoot root;
  root.Write("/proc/stat", FixtureRoot::Files().at("/proc/stat"));
  root.Write("/sys/class/hwmon/hwmon0/name", "amdgpu\n");
  root.Write("/sys/class/hwmon/hwmon0/power1_average", "30000000\n");
  EXPECT_TRUE(HasSource(*Sampler::Open({.sources = {.root = root.path()}}), "model"));
  root.Write("/sys/class/hwmon/hwmon0/name", "fam15h_power\n");
  EXPECT_FALSE(HasSource(*Sampler::Open({.sources = {.root = root.path()}}), "model"));
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
  std::atomic<int> ticked = 0;
  const std::int64_t begin_ns = MonotonicNs();
  sampler->Start([&](const std::vector<Sample>& samples) {
    ticks.push_back(samples);
    ++ticked;
  });
  ASSERT_TRUE(HoldsWithinAMinute([&] { return ticked >= 20; }));
  sampler->Stop();
  const std::int64_t end_ns = MonotonicNs();
  sampler->Stop();
  // Every period is either a tick or missed, which each source counts; plus the last of Stop.
  const auto missed = static_cast<std::int64_t>(sampler->diagnostics().CountOf("missed_tick"));
  const auto count = static_cast<std::int64_t>(ticks.size());
  const std::int64_t sampled_ns = ticks.back().front().time_ns - ticks.front().front().time_ns;
  EXPECT_GE(count + missed, sampled_ns / 5'000'000);
  EXPECT_LE(count, (end_ns - begin_ns) / 5'000'000 + 2);
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

TEST(Sampler, ASourceMayHaveAPeriodOfItsOwn) {
  const FixtureRoot root;
  root.WriteAll();
  constexpr std::int64_t kHourNs = 3'600'000'000'000;
  const auto sampler = Sampler::Open({.period_ns = kHourNs,
                                      .source_periods_ns = {{"thermal", 5'000'000}},
                                      .sources = {.root = root.path()}});
  std::map<std::string, int> readings;
  std::mutex mutex;
  sampler->Start([&](const std::vector<Sample>& samples) {
    const std::lock_guard lock(mutex);
    for (const Sample& sample : samples) {
      ++readings[sampler->metrics()[static_cast<std::size_t>(sample.metric)].source];
    }
  });
  ASSERT_TRUE(HoldsWithinAMinute([&] {
    const std::lock_guard lock(mutex);
    return readings["thermal"] >= 10;
  }));
  sampler->Stop();
  for (const Metric& metric : sampler->metrics()) {
    EXPECT_EQ(metric.period_ns, metric.source == "thermal" ? 5'000'000 : kHourNs);
  }
  EXPECT_EQ(readings["cpufreq"], 2) << "one value: at the beginning and at the end";
}

// What a run needs to tie its OpenCL devices to the meters.
TEST(Sampler, GpusAreReadAndSayWhichDevicesTheyAre) {
  const FixtureRoot root;
  root.WriteAll();
  const StandIn nvml(STAND_IN_NVML);
  nvml.Set("gpus", 2);
  const auto sampler =
      Sampler::Open({.period_ns = 5'000'000,
                     .sources = {.root = root.path(), .libraries = {{"nvml", nvml.path()}}}});
  ASSERT_EQ(sampler->devices().size(), 2U);
  EXPECT_EQ(sampler->devices()[1].device, "gpu-0000:02:00.0");
  EXPECT_EQ(sampler->devices()[1].source, "nvml");
  EXPECT_EQ(sampler->devices()[1].name, "Stand-in GPU 1");
  EXPECT_EQ(sampler->devices()[1].uuid, "abcdef01-2345-6789-abcd-000000000001");
  EXPECT_EQ(sampler->devices()[1].pci_bus_id, "0000:02:00.0");
  std::map<std::string, double> watts;
  std::mutex mutex;
  sampler->Start([&](const std::vector<Sample>& samples) {
    const std::lock_guard lock(mutex);
    for (const Sample& sample : samples) {
      const Metric& metric = sampler->metrics()[static_cast<std::size_t>(sample.metric)];
      if (metric.name == "power" && metric.source == "nvml") {
        watts[metric.device] = sample.value;
      }
    }
  });
  sampler->Stop();
  EXPECT_THAT(watts,
              testing::ElementsAre(Pair("gpu-0000:01:00.0", 400), Pair("gpu-0000:02:00.0", 400)));
}

// A driver that takes its time holds up nobody else, and is counted.
TEST(Sampler, ASlowDriverDelaysOnlyItself) {
  const FixtureRoot root;
  root.WriteAll();
  const StandIn nvml(STAND_IN_NVML);
  const auto sampler =
      Sampler::Open({.period_ns = 5'000'000,
                     .sources = {.root = root.path(), .libraries = {{"nvml", nvml.path()}}}});
  nvml.Set("delay_ms", 5);  // of each of some 15 calls
  std::map<std::string, int> readings;
  std::mutex mutex;
  sampler->Start([&](const std::vector<Sample>& samples) {
    const std::lock_guard lock(mutex);
    for (const Sample& sample : samples) {
      const Metric& metric = sampler->metrics()[static_cast<std::size_t>(sample.metric)];
      ++readings[metric.name + " of " + metric.device];
    }
  });
  ASSERT_TRUE(HoldsWithinAMinute([&] {
    const std::lock_guard lock(mutex);
    return readings["power of gpu-0000:01:00.0"] >= 4;
  }));
  sampler->Stop();
  EXPECT_GT(readings["temperature of acpitz"], 2 * readings["power of gpu-0000:01:00.0"]);
  EXPECT_GT(sampler->diagnostics().CountOf("slow_reading"), 0U);
  EXPECT_GT(sampler->diagnostics().CountOf("missed_tick"), 0U);
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

}  // namespace
}  // namespace reprise
