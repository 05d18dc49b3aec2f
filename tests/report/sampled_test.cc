// Energy and metrics: over the measured time, nothing twice, models labelled.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "report/analysis.h"
#include "report/values/report.h"
#include "tests/report/synthetic_run.h"

namespace reprise {
namespace {

using ::testing::Optional;

// Adds a metric that is `value` + `per_ms` x milliseconds, each ms from 0 to 60. The measured time
// is from 20 ms (iteration 1's start) to a little over 40 ms (iteration 3's end).
void AddMetric(RankData& rank, const std::string& source, const std::string& name,
               const std::string& unit, const std::string& device, double value, double per_ms) {
  const auto id = static_cast<std::int32_t>(rank.metrics.size());
  rank.metrics.push_back({.id = id,
                          .name = name,
                          .unit = unit,
                          .device = device,
                          .source = source,
                          .kind = unit == "joules"  ? MetricKind::kEnergy
                                  : unit == "count" ? MetricKind::kCounter
                                                    : MetricKind::kGauge,
                          .modelled = source == "model"});
  for (int ms = 0; ms <= 60; ++ms) {
    rank.samples.push_back(
        {.metric = id, .time_ns = ms * 1'000'000LL, .value = value + per_ms * ms});
  }
}

RankData WithoutSkew(RankData rank) {
  rank.steps.back().duration_ns = 0;  // ends at 40 ms exactly
  return rank;
}

RunData MakeSampledRun() {
  RunData run = MakeRun();
  run.ranks[0] = WithoutSkew(run.ranks[0]);
  return run;
}

TEST(Energy, ModelIsLabelled) {
  RunData run = MakeSampledRun();
  AddMetric(run.ranks[0], "model", "cpu_power", "watts", "cpu", 50, 0);
  const Report report = Analyze(run);
  ASSERT_TRUE(report.energy_joules);
  EXPECT_NEAR(*report.energy_joules, 50 * 0.020, 1e-9);
  EXPECT_EQ(report.energy_source, "model (modelled)");
  ASSERT_EQ(report.energy.size(), 1U);
  EXPECT_TRUE(report.energy[0].modelled);
  EXPECT_NEAR(report.energy[0].mean_watts, 50, 1e-9);
}

// Cores lie within the package and the board's sensor measures it again.
TEST(Energy, NothingIsCountedTwice) {
  RunData run = MakeSampledRun();
  RankData& rank = run.ranks[0];
  AddMetric(rank, "rapl", "package_energy", "joules", "package-0", 7, 0.1);
  AddMetric(rank, "rapl", "core_energy", "joules", "package-0/core", 0, 0.05);
  AddMetric(rank, "rapl", "dram_energy", "joules", "package-0/dram", 0, 0.02);
  AddMetric(rank, "rapl", "psys_energy", "joules", "psys", 0, 0.5);
  AddMetric(rank, "hwmon", "power", "watts", "board/power1", 120, 0);
  AddMetric(rank, "nvml", "energy", "joules", "gpu-0", 0, 0.3);
  AddMetric(rank, "nvml", "power", "watts", "gpu-0", 300, 0);
  AddMetric(rank, "nvml", "power", "watts", "gpu-1", 200, 0);
  const Report report = Analyze(run);
  EXPECT_EQ(report.energy.size(), 8U);
  ASSERT_TRUE(report.energy_joules);
  EXPECT_NEAR(*report.energy_joules, 2.0 + 0.4 + 6.0 + 4.0, 1e-9);
  EXPECT_EQ(report.energy_source, "nvml + rapl");
}

TEST(Energy, SensorChipsCountWhereThereIsNoRapl) {
  RunData run = MakeSampledRun();
  AddMetric(run.ranks[0], "hwmon", "power", "watts", "amd/power1", 100, 0);
  AddMetric(run.ranks[0], "hwmon", "energy", "joules", "amd/energy1", 0, 0.1);
  AddMetric(run.ranks[0], "hwmon", "power", "watts", "board/power1", 10, 0);
  const Report report = Analyze(run);
  ASSERT_TRUE(report.energy_joules);
  EXPECT_NEAR(*report.energy_joules, 2.0 + 0.2, 1e-9);  // amd's counter, board's power
}

// One GPU that both the kernel's sensors and the vendor's library read, and one that only the
// former do; the CPU has RAPL. A GPU's power does not stand in for the CPU's, which is modelled
// without.
TEST(Energy, AGpuReadByTwoSourcesCountsOnce) {
  RunData run = MakeSampledRun();
  RankData& rank = run.ranks[0];
  AddMetric(rank, "hwmon", "power", "watts", "amdgpu/PPT", 300, 0);
  AddMetric(rank, "hwmon", "power", "watts", "amdgpu/PPT (hwmon2/power1)", 100, 0);
  AddMetric(rank, "amd_smi", "gpu_energy", "joules", "gpu-0000:c3:00.0", 0, 0.3);
  AddMetric(rank, "amd_smi", "power", "watts", "gpu-0000:c3:00.0", 300, 0);
  AddMetric(rank, "model", "cpu_power", "watts", "cpu", 50, 0);
  rank.meters = {
      {.device = "amdgpu/PPT", .source = "hwmon", .pci_bus_id = "0000:c3:00.0"},
      {.device = "amdgpu/PPT (hwmon2/power1)", .source = "hwmon", .pci_bus_id = "0000:c4:00.0"},
      {.device = "gpu-0000:c3:00.0", .source = "amd_smi", .pci_bus_id = "0000:c3:00.0"}};
  Report report = Analyze(run);
  ASSERT_TRUE(report.energy_joules);
  EXPECT_NEAR(*report.energy_joules, 6.0 + 2.0 + 1.0, 1e-9);
  EXPECT_EQ(report.energy_source, "amd_smi + hwmon + model (modelled)");

  AddMetric(rank, "rapl", "package_energy", "joules", "package-0", 7, 0.1);
  report = Analyze(run);
  EXPECT_NEAR(*report.energy_joules, 6.0 + 2.0 + 2.0, 1e-9);
  EXPECT_EQ(report.energy_source, "amd_smi + hwmon + rapl");
}

// Without a counter: instant power, not its average as well; memory is part of it, a limit no
// power.
TEST(Energy, OfAGpusPowersOneCounts) {
  RunData run = MakeSampledRun();
  RankData& rank = run.ranks[0];
  AddMetric(rank, "nvml", "power", "watts", "gpu-0", 300, 0);
  AddMetric(rank, "nvml", "average_power", "watts", "gpu-0", 290, 0);
  AddMetric(rank, "nvml", "memory_power", "watts", "gpu-0", 60, 0);
  AddMetric(rank, "nvml", "power_limit", "watts", "gpu-0", 700, 0);
  AddMetric(rank, "nvml", "average_power", "watts", "gpu-1", 100, 0);
  AddMetric(rank, "nvml", "throttle_reasons", "count", "gpu-0", 1, 0);
  rank.metrics.back().kind = MetricKind::kState;
  const Report report = Analyze(run);
  ASSERT_TRUE(report.energy_joules);
  EXPECT_NEAR(*report.energy_joules, 6.0 + 2.0, 1e-9);
  EXPECT_EQ(report.energy.size(), 4U);
  ASSERT_EQ(report.metrics.size(), 1U);
  EXPECT_EQ(report.metrics[0].metric, "power_limit");
}

TEST(Energy, TwoHostsAddUp) {
  RunData run = MakeSampledRun();
  run.manifest.hosts = {"h", "g"};
  run.ranks[1] = WithoutSkew(run.ranks[1]);
  AddMetric(run.ranks[0], "rapl", "package_energy", "joules", "package-0", 0, 0.1);
  AddMetric(run.ranks[1], "model", "cpu_power", "watts", "cpu", 50, 0);
  const Report report = Analyze(run);
  ASSERT_TRUE(report.energy_joules);
  EXPECT_NEAR(*report.energy_joules, 3.0, 1e-9);
  EXPECT_EQ(report.energy_source, "model (modelled) + rapl");
  EXPECT_NEAR(report.mean_watts, 150, 1e-6);
  EXPECT_EQ(report.measured_ns, 20'000'000);
}

TEST(Energy, TooFewSamplesAreNoEnergy) {
  RunData run = MakeSampledRun();
  AddMetric(run.ranks[0], "rapl", "package_energy", "joules", "package-0", 0, 0.1);
  run.ranks[0].samples.resize(22);  // 0 to 21 ms: two inside
  EXPECT_TRUE(Analyze(run).energy_joules);
  run.ranks[0].samples.resize(21);
  const Report report = Analyze(run);
  EXPECT_FALSE(report.energy_joules);
  EXPECT_EQ(report.energy_source, "");
  EXPECT_TRUE(report.energy.empty());
}

TEST(Metrics, RangeOverTheMeasuredTimeAndRatesOfCounters) {
  RunData run = MakeSampledRun();
  AddMetric(run.ranks[0], "hwmon", "temperature", "celsius", "cpu", 30, 0.5);
  AddMetric(run.ranks[0], "procfs", "context_switches", "count", "host", 1'000, 3);
  run.ranks[0].samples[30].value = std::nan("");
  const Report report = Analyze(run);
  ASSERT_EQ(report.metrics.size(), 2U);
  EXPECT_DOUBLE_EQ(report.metrics[0].min, 40);
  EXPECT_DOUBLE_EQ(report.metrics[0].max, 50);
  EXPECT_NEAR(report.metrics[0].mean, 45, 1e-9);
  EXPECT_TRUE(report.metrics[1].rate);
  EXPECT_NEAR(report.metrics[1].mean, 3'000, 1e-6);
}

}  // namespace
}  // namespace reprise
