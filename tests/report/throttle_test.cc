// What limited the devices: throttling, power peaks, heating.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "report/analysis.h"
#include "report/energy/power_peaks.h"
#include "report/sections/sections.h"
#include "report/values/report.h"
#include "tests/report/synthetic_run.h"

namespace reprise {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Optional;

constexpr char kGpu[] = "gpu-0000:01:00.0";

template <typename Value>
void AddGpuMetric(RankData& rank, const std::string& name, const std::string& unit, MetricKind kind,
                  const Value& value) {
  const auto id = static_cast<std::int32_t>(rank.metrics.size());
  rank.metrics.push_back({.id = id,
                          .name = name,
                          .unit = unit,
                          .device = kGpu,
                          .source = "nvml",
                          .kind = kind,
                          .states = kind == MetricKind::kState
                                        ? "power_cap,hw_slowdown,sync_boost,sw_thermal,hw_thermal"
                                        : "",
                          .period_ns = kMs});
  for (int ms = 0; ms <= 60; ++ms) {
    rank.samples.push_back({id, ms * kMs, static_cast<double>(value(ms))});
  }
}

bool Between(int ms, int begin, int end) { return ms >= begin && ms < end; }

// One rank on one GPU, measured from 20 to 50 ms: a gemm from 20, 30 and 40 ms on, of 6 ms each.
// Power capped from 22 to 26 ms at half the clock, hot too from 24 on; hot alone from 42 to 43 ms.
RunData MakeThrottled() {
  RunData run;
  run.manifest.world_size = 1;
  run.manifest.hosts = {"h"};
  run.manifest.devices = {"opencl: gpu"};
  RankData rank;
  rank.host = "h";
  rank.closed = true;
  rank.nodes = {MakeNode(1, OpClass::kGemm, OpKind::kWork, "thread 1", 0, 600)};
  rank.devices = {{.device = "opencl:0", .pci_bus_id = "0000:01:00.0"}};
  for (int i = 0; i < 4; ++i) {
    rank.records.push_back(MakeRecord(1, i, ReplayMode::kReal, 0, 6 * kMs));
    rank.steps.push_back({.iteration = i,
                          .warmup = i == 0,
                          .start_ns = kIterationNs * (i + 1),
                          .duration_ns = kIterationNs});
  }
  AddGpuMetric(rank, "throttle_reasons", "count", MetricKind::kState, [](int ms) {
    return Between(ms, 22, 24) ? 1 : Between(ms, 24, 26) ? 9 : Between(ms, 42, 43) ? 8 : 0;
  });
  AddGpuMetric(rank, "sm_clock", "hertz", MetricKind::kGauge, [](int ms) {
    return Between(ms, 22, 26) ? 0.7e9 : Between(ms % 10, 0, 6) ? 1.4e9 : 0.2e9;
  });
  AddGpuMetric(rank, "max_sm_clock", "hertz", MetricKind::kGauge, [](int) { return 2.0e9; });
  AddGpuMetric(rank, "temperature", "celsius", MetricKind::kGauge,
               [](int ms) { return 50 + 0.1 * ms; });
  run.ranks = {rank};
  return run;
}

TEST(Throttling, IntervalsWithReasonsClockAndWhatRan) {
  const Report report = Analyze(MakeThrottled());
  ASSERT_EQ(report.thermal.throttling.size(), 1U);
  const ThrottleRow& row = report.thermal.throttling[0];
  EXPECT_EQ(row.device, kGpu);
  EXPECT_EQ(row.measured_ns, 30 * kMs);
  EXPECT_EQ(row.throttled_ns, 5 * kMs);
  ASSERT_EQ(row.reasons.size(), 2U);
  EXPECT_EQ(row.reasons[0].name, "power_cap");
  EXPECT_EQ(row.reasons[0].ns, 4 * kMs);
  EXPECT_EQ(row.reasons[1].name, "sw_thermal");
  EXPECT_EQ(row.reasons[1].ns, 3 * kMs);
  ASSERT_EQ(row.intervals.size(), 2U);
  const ThrottleInterval& first = row.intervals[0];
  EXPECT_EQ(first.begin_ns, 2 * kMs);
  EXPECT_EQ(first.length_ns, 4 * kMs);
  EXPECT_THAT(first.reasons, ElementsAre("power_cap", "sw_thermal"));
  EXPECT_THAT(first.clock_hertz, Optional(DoubleNear(0.7e9, 1)));
  ASSERT_EQ(first.classes.size(), 1U);
  EXPECT_EQ(first.classes[0].name, "gemm");
  EXPECT_EQ(first.classes[0].ns, 4 * kMs);
  EXPECT_EQ(first.operations[0].name, "op1");
  // 1.4 GHz where it was busy and free: not the idle clock, not the nominal one.
  EXPECT_THAT(row.unthrottled_hertz, Optional(DoubleNear(1.4e9, 1)));
  EXPECT_EQ(row.unthrottled_from, "busy samples");
  EXPECT_THAT(first.lost_ns, Optional(2 * kMs));
  EXPECT_THAT(row.intervals[1].lost_ns, Optional(0));
  EXPECT_THAT(row.lost_ns, Optional(2 * kMs));
}

TEST(Throttling, AlwaysThrottledIsComparedWithTheHighestClock) {
  RunData run = MakeThrottled();
  for (Sample& sample : run.ranks[0].samples) {
    sample.value = sample.metric == 0 ? 1 : sample.metric == 1 ? 1.0e9 : sample.value;
  }
  const Report report = Analyze(run);
  ASSERT_EQ(report.thermal.throttling.size(), 1U);
  const ThrottleRow& row = report.thermal.throttling[0];
  EXPECT_EQ(row.unthrottled_from, "max_sm_clock");
  EXPECT_THAT(row.lost_ns, Optional(15 * kMs));
}

// A gap between readings ends an interval: nobody knows what was then.
TEST(Throttling, GapsAreNotThrottling) {
  RunData run = MakeThrottled();
  std::erase_if(run.ranks[0].samples, [](const Sample& sample) {
    return sample.metric == 0 && sample.time_ns > 22 * kMs && sample.time_ns < 40 * kMs;
  });
  const Report report = Analyze(run);
  ASSERT_EQ(report.thermal.throttling.size(), 1U);
  EXPECT_EQ(report.thermal.throttling[0].throttled_ns, 2 * kMs);
  EXPECT_EQ(report.thermal.throttling[0].measured_ns, 13 * kMs);
}

TEST(Throttling, ConsoleAndJson) {
  const Report report = Analyze(MakeThrottled());
  const std::string text = FullText(report, false);
  EXPECT_THAT(text, HasSubstr("16.7 % of the time (2 intervals), power_cap 4.00 ms"));
  EXPECT_THAT(text, HasSubstr("lost: an estimate"));
  EXPECT_THAT(JsonText(report), HasSubstr("\"unthrottled_from\": \"busy samples\""));
  RunData run = MakeThrottled();
  for (Sample& sample : run.ranks[0].samples) {
    sample.value = sample.metric == 0 ? 0 : sample.value;
  }
  EXPECT_THAT(FullText(Analyze(run), false), HasSubstr("never: gpu-0000:01:00.0"));
  run.ranks[0].metrics.clear();
  run.ranks[0].samples.clear();
  const std::string nothing = FullText(Analyze(run), false);
  EXPECT_THAT(nothing, ::testing::Not(HasSubstr("Throttling")));
  EXPECT_THAT(nothing, ::testing::Not(HasSubstr("Heating")));
}

TEST(Heating, SlopeByLeastSquares) {
  const Report report = Analyze(MakeThrottled());
  ASSERT_EQ(report.thermal.heating.size(), 1U);
  const HeatingRow& row = report.thermal.heating[0];
  EXPECT_NEAR(row.begin_celsius, 52, 1e-9);
  EXPECT_NEAR(row.end_celsius, 54.9, 1e-9);
  EXPECT_NEAR(row.celsius_per_minute, 0.1 * 60'000, 1e-6);
}

std::vector<SeriesStep> Watts(const std::vector<double>& values) {
  std::vector<SeriesStep> steps;
  for (const double value : values) {
    const auto at = static_cast<std::int64_t>(steps.size());
    steps.push_back({at * kMs, (at + 1) * kMs, value});
  }
  return steps;
}

TEST(PowerPeaks, CountHeightLengthAndBurstiness) {
  std::vector<double> values(100, 100);
  for (const std::size_t at : {10U, 11U, 30U, 50U, 70U}) {  // begins 20 ms apart
    values[at] = 200;
  }
  const auto row = DescribePeaks(Watts(values), 150);
  ASSERT_TRUE(row);
  EXPECT_NEAR(row->mean_watts, 105, 1e-9);
  EXPECT_NEAR(row->deviation_watts, std::sqrt(0.95 * 25 + 0.05 * 95 * 95), 1e-9);
  EXPECT_EQ(row->excursions, 4);
  EXPECT_EQ(row->longest_ns, 2 * kMs);
  EXPECT_EQ(row->excursion_ns, 5 * kMs);
  EXPECT_EQ(row->max_watts, 200);
  EXPECT_EQ(row->above_limit, 4);
  EXPECT_EQ(row->above_limit_ns, 5 * kMs);
  EXPECT_THAT(row->burstiness, Optional(DoubleNear(-1, 1e-9)));  // a clockwork
  EXPECT_NEAR(row->coefficient_of_variation, row->deviation_watts / 105, 1e-12);
}

TEST(PowerPeaks, BurstsAreBurstier) {
  std::vector<double> values(1'000, 100);
  for (const std::size_t at : {10U, 12U, 14U, 16U, 900U, 902U, 904U}) {
    values[at] = 200;
  }
  const auto row = DescribePeaks(Watts(values), std::nullopt);
  ASSERT_TRUE(row);
  EXPECT_GT(row->burstiness.value_or(-1), 0.3);
  EXPECT_FALSE(row->limit_watts);
}

TEST(PowerPeaks, SteadyPowerHasNone) {
  const auto row = DescribePeaks(Watts(std::vector<double>(77, 123.4)), std::nullopt);
  ASSERT_TRUE(row);
  EXPECT_EQ(row->excursions, 0);
  EXPECT_FALSE(row->burstiness);
  EXPECT_FALSE(DescribePeaks({}, std::nullopt));
}

}  // namespace
}  // namespace reprise
