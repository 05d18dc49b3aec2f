// Who used the energy: shares by time, nothing lost, uncertainty stated.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "core/sampled_energy.h"
#include "report/analysis.h"
#include "report/energy/energy_split.h"
#include "report/sections/sections.h"
#include "report/text/short_text.h"
#include "report/values/energy_values.h"
#include "report/values/report.h"
#include "tests/report/synthetic_run.h"

namespace reprise {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Optional;

Metric PowerMetric(const std::string& source, const std::string& device, std::int32_t id = 0) {
  return {.id = id,
          .name = "power",
          .unit = "watts",
          .device = device,
          .source = source,
          .modelled = source == "model",
          .period_ns = kMs};
}

// A power that is `watts` each ms from 0 to 60, but for times that `skip` names.
template <typename Watts, typename Skip>
void AddSamples(RankData& rank, const Metric& metric, const Watts& watts, const Skip& skip) {
  rank.metrics.push_back(metric);
  for (int ms = 0; ms <= 60; ++ms) {
    if (!skip(ms)) {
      rank.samples.push_back({metric.id, ms * kMs, watts(ms)});
    }
  }
}

void AddConstant(RankData& rank, const Metric& metric, double watts) {
  AddSamples(
      rank, metric, [watts](int) { return watts; }, [](int) { return false; });
}

// One rank that runs, in each of three iterations of 10 ms from 20 ms on, a gemm of 4 ms in the
// forward phase and an elementwise operation of 2 ms in the backward phase, one after the other.
RankData MakeWorker(int rank) {
  RankData data;
  data.rank = rank;
  data.host = "h";
  data.closed = true;
  data.nodes = {MakeNode(1, OpClass::kGemm, OpKind::kWork, "thread 1", 0, 600),
                MakeNode(2, OpClass::kElementwise, OpKind::kWork, "thread 1", 700, 200)};
  data.nodes[0].phase = Phase::kForward;
  data.nodes[1].phase = Phase::kBackward;
  for (int i = 0; i < 4; ++i) {
    data.records.push_back(MakeRecord(1, i, ReplayMode::kReal, 0, 4 * kMs));
    data.records.push_back(MakeRecord(2, i, ReplayMode::kSurrogate, 5 * kMs, 2 * kMs));
    data.steps.push_back({.iteration = i,
                          .warmup = i == 0,
                          .step = 0,
                          .start_ns = kIterationNs * (i + 1),
                          .duration_ns = kIterationNs});
  }
  return data;
}

RunData MakeWorkers(int ranks) {
  RunData run;
  run.manifest.world_size = ranks;
  for (int r = 0; r < ranks; ++r) {
    run.ranks.push_back(MakeWorker(r));
    run.manifest.hosts.emplace_back("h");
    run.manifest.devices.emplace_back("host: cpu");
  }
  return run;
}

EnergyAttribution Attribute(const RunData& run) {
  const Report report = Analyze(run);
  EXPECT_TRUE(report.attribution);
  return report.attribution.value_or(EnergyAttribution{});
}

// How many whole periods have passed.
int Whole(int ms, int period_ms) { return ms / period_ms; }

double JoulesOf(const std::vector<EnergyUseRow>& rows, const std::string& name) {
  const auto found = std::find_if(rows.begin(), rows.end(),
                                  [&name](const EnergyUseRow& row) { return row.name == name; });
  return found == rows.end() ? -1 : found->use.joules;
}

double SumOf(const std::vector<EnergyUseRow>& rows) {
  return std::accumulate(rows.begin(), rows.end(), 0.0,
                         [](double sum, const EnergyUseRow& row) { return sum + row.use.joules; });
}

TEST(PhaseUses, TimeTokensAndEnergyOfEachPhase) {
  RunData run = MakeWorkers(2);
  AddConstant(run.ranks[0], PowerMetric("ipmi", "board"), 100);
  for (RankData& rank : run.ranks) {
    rank.facts.step_tokens = 60;
  }
  const Report report = Analyze(run);
  ASSERT_EQ(report.phase_uses.size(), 2U);  // most time first
  const PhaseUse& forward = report.phase_uses[0];
  EXPECT_EQ(forward.name, "forward");
  EXPECT_NEAR(forward.time_ns.value_or(0), 4 * kMs, 1);  // of a rank
  EXPECT_NEAR(forward.tokens.value_or(0), 120, 1e-9);    // of both
  EXPECT_NEAR(forward.TokensPerSecond().value_or(0), 120 / 4e-3, 1e-3);
  EXPECT_NEAR(forward.joules.value_or(0), 0.4, 1e-9);  // one meter: 4 ms of 100 W
  EXPECT_NEAR(forward.JoulesPerToken().value_or(0), 0.4 / 120, 1e-12);
  EXPECT_NEAR(report.phase_uses[1].JoulesPerToken().value_or(0), 0.2 / 120, 1e-12);
  EXPECT_NE(ShortText(report, false).find("J/token"), std::string::npos);
  EXPECT_NE(SectionText(report, "phases", false)->find("3.33 mJ"), std::string::npos);
}

TEST(EnergyAttribution, PowerTimesTheTimeOfWhatRuns) {
  RunData run = MakeWorkers(1);
  AddConstant(run.ranks[0], PowerMetric("ipmi", "board"), 100);
  const EnergyAttribution all = Attribute(run);
  EXPECT_NEAR(all.joules, 3.0, 1e-9);  // 100 W over 30 ms
  EXPECT_NEAR(JoulesOf(all.phases, "forward"), 1.2, 1e-9);
  EXPECT_NEAR(JoulesOf(all.phases, "backward"), 0.6, 1e-9);
  EXPECT_NEAR(JoulesOf(all.classes, "gemm"), 1.2, 1e-9);
  EXPECT_NEAR(JoulesOf(all.ranks, "0"), 1.8, 1e-9);
  EXPECT_NEAR(all.idle_joules, 1.2, 1e-9);
  EXPECT_EQ(all.gap_joules, 0);
  EXPECT_FALSE(all.modelled);
  ASSERT_TRUE(all.step_joules);
  EXPECT_NEAR(all.step_joules->median, 1.0, 1e-9);
  EXPECT_NEAR(all.step_joules->half_range, 0, 1e-9);
  EXPECT_EQ(all.step_joules->iterations, 3);
  EXPECT_EQ(all.steps.size(), 3U);
  EXPECT_FALSE(all.above_idle_joules);  // nobody measured the idle machine
}

TEST(EnergyAttribution, StepsSpread) {
  RunData run = MakeWorkers(1);
  AddSamples(
      run.ranks[0], PowerMetric("model", "cpu"), [](int ms) { return 10.0 * Whole(ms, 10); },
      [](int) { return false; });
  const EnergyAttribution all = Attribute(run);
  EXPECT_TRUE(all.modelled);
  ASSERT_TRUE(all.step_joules);
  // 20, 30 and 40 W, of which the last ms of each step rises by half of 10 W.
  EXPECT_NEAR(all.step_joules->median, 0.305, 1e-9);
  EXPECT_NEAR(all.step_joules->half_range, 0.1, 1e-9);
  EXPECT_NEAR(all.step_joules->standard_error, 0.1 / std::sqrt(3), 1e-9);
  EXPECT_THAT(FullText(Analyze(run), false), HasSubstr("MODELLED"));
}

// Two ranks at a time halve the power between them; a wait and what was only waited for get none.
TEST(EnergyAttribution, EqualSharesAmongWhatRuns) {
  RunData run = MakeWorkers(2);
  AddConstant(run.ranks[0], PowerMetric("ipmi", "board"), 100);
  for (NodeRecord& record : run.ranks[1].records) {
    record.mode = record.node_id == 2 ? ReplayMode::kTimed : record.mode;
    record.duration_ns = record.node_id == 1 ? 2 * kMs : record.duration_ns;
  }
  run.ranks[1].nodes.push_back(MakeNode(9, OpClass::kHost, OpKind::kWait, "thread 1", 0, 900));
  run.ranks[1].records.push_back(MakeRecord(9, 1, ReplayMode::kReal, 0, 9 * kMs));
  const EnergyAttribution all = Attribute(run);
  // Each iteration: 2 ms shared, 2 ms rank 0's, then 2 ms rank 0's.
  EXPECT_NEAR(JoulesOf(all.ranks, "0"), 3 * (0.1 + 0.2 + 0.2), 1e-9);
  EXPECT_NEAR(JoulesOf(all.ranks, "1"), 3 * 0.1, 1e-9);
  EXPECT_NEAR(all.idle_joules, 3 * 0.4, 1e-9);
}

// A transfer is an operation from the last arrival on: before, its rank only waits.
TEST(EnergyAttribution, TransfersCountFromTheLastArrival) {
  RunData run = MakeWorkers(2);
  AddConstant(run.ranks[0], PowerMetric("ipmi", "board"), 100);
  for (RankData& rank : run.ranks) {
    rank.nodes.push_back(MakeNode(5, OpClass::kComm, OpKind::kComm, "group tp", 700, 200));
    rank.nodes.back().phase = Phase::kCommunication;
    rank.collectives = {MakeTransfer(5, CommKind::kAllReduce, 4'096, 2)};
    for (int i = 0; i < 4; ++i) {  // all are done 9 ms into the step, rank 1 arrives last
      const std::int64_t after_ns = (rank.rank == 0 ? 7 : 8) * kMs;
      rank.records.push_back(MakeRecord(5, i, ReplayMode::kReal, after_ns, 9 * kMs - after_ns));
    }
  }
  const EnergyAttribution all = Attribute(run);
  EXPECT_NEAR(JoulesOf(all.phases, "communication"), 3 * 0.1, 1e-9);
  ASSERT_EQ(all.transfers.size(), 1U);
  EXPECT_EQ(all.transfers[0].name, "all_reduce");
  EXPECT_EQ(all.transfers[0].bytes, 4'096);
  EXPECT_EQ(all.transfers[0].use.active_ns, 2 * 3 * kMs);
  EXPECT_NEAR(all.transfers[0].use.joules, 3 * 0.1, 1e-9);
}

// Ranks 0 and 1 share the first GPU, rank 2 has the second, and the third is nobody's. What they
// compute is the GPUs'; the host's own meter has their transfers only.
TEST(EnergyAttribution, MetersBelongToTheRanksOnTheirDevice) {
  RunData run = MakeWorkers(3);
  RankData& sampler = run.ranks[0];
  const std::vector<std::string> pci = {"0000:01:00.0", "0000:02:00.0", "0000:03:00.0"};
  for (std::size_t g = 0; g < pci.size(); ++g) {
    const Metric metric = PowerMetric("nvml", "gpu-" + pci[g], static_cast<std::int32_t>(g));
    AddConstant(sampler, metric, 100.0 * static_cast<double>(g + 1));
    sampler.meters.push_back({.device = metric.device, .source = "nvml", .pci_bus_id = pci[g]});
  }
  AddConstant(sampler, PowerMetric("ipmi", "board", 3), 50);
  sampler.meters[1].pci_bus_id = "";
  sampler.meters[1].uuid = "u-2";
  run.ranks[0].devices = {{.device = "opencl:0", .pci_bus_id = pci[0]}};
  run.ranks[1].devices = {{.device = "opencl:0", .pci_bus_id = pci[0]}};
  run.ranks[2].devices = {{.device = "opencl:1", .uuid = "u-2", .pci_bus_id = pci[1]}};
  const EnergyAttribution all = Attribute(run);
  ASSERT_EQ(all.meters.size(), 4U);
  EXPECT_THAT(all.meters[0].ranks, ElementsAre(0, 1, 2));  // board
  EXPECT_THAT(all.meters[1].ranks, ElementsAre(0, 1));
  EXPECT_THAT(all.meters[2].ranks, ElementsAre(2));
  EXPECT_THAT(all.meters[3].ranks, ElementsAre());
  EXPECT_NEAR(JoulesOf(all.ranks, "0"), 100 * 0.018 / 2, 1e-9);
  EXPECT_NEAR(JoulesOf(all.ranks, "1"), 100 * 0.018 / 2, 1e-9);
  EXPECT_NEAR(JoulesOf(all.ranks, "2"), 200 * 0.018, 1e-9);
  EXPECT_NEAR(all.meters[0].idle_joules, 50 * 0.030, 1e-9);
  EXPECT_NEAR(all.meters[3].idle_joules, 300 * 0.030, 1e-9);
  EXPECT_NEAR(all.joules, (100 + 200 + 300 + 50) * 0.030, 1e-9);
}

// Each host's clock is its own: what ran on one never meets the samples of the other.
TEST(EnergyAttribution, HostsWithOtherClocksAddUp) {
  RunData run = MakeWorkers(2);
  constexpr std::int64_t kOffsetNs = 3'600'000'000'000;
  AddConstant(run.ranks[0], PowerMetric("ipmi", "board"), 100);
  AddConstant(run.ranks[1], PowerMetric("ipmi", "board"), 200);
  run.manifest.hosts[1] = run.ranks[1].host = "g";
  for (NodeRecord& record : run.ranks[1].records) {
    record.start_ns += kOffsetNs;
  }
  for (StepRecord& step : run.ranks[1].steps) {
    step.start_ns += kOffsetNs;
  }
  for (Sample& sample : run.ranks[1].samples) {
    sample.time_ns += kOffsetNs;
  }
  const EnergyAttribution all = Attribute(run);
  ASSERT_EQ(all.hosts.size(), 2U);
  EXPECT_NEAR(JoulesOf(all.ranks, "0"), 1.8, 1e-9);
  EXPECT_NEAR(JoulesOf(all.ranks, "1"), 3.6, 1e-9);
  EXPECT_NEAR(all.joules, 9.0, 1e-9);
  ASSERT_TRUE(all.step_joules);
  EXPECT_NEAR(all.step_joules->median, 3.0, 1e-9);
}

TEST(EnergyAttribution, GapsAreNobodysAndAreSaid) {
  RunData run = MakeWorkers(1);
  AddSamples(
      run.ranks[0], PowerMetric("ipmi", "board"), [](int) { return 100.0; },
      [](int ms) { return ms > 20 && ms < 30; });
  const Report report = Analyze(run);
  ASSERT_TRUE(report.attribution);
  const EnergyAttribution& all = *report.attribution;
  EXPECT_NEAR(all.joules, 3.0, 1e-9);
  EXPECT_NEAR(all.gap_joules, 1.0, 1e-9);
  EXPECT_NEAR(SumOf(all.phases), 1.2, 1e-9);
  ASSERT_EQ(all.meters.size(), 1U);
  EXPECT_EQ(all.meters[0].gaps, 1);
  EXPECT_EQ(all.meters[0].gap_ns, 10 * kMs);
  EXPECT_THAT(report.notes, ::testing::Contains(HasSubstr("was not read for 10 ms in 1 gaps")));
}

TEST(EnergyAttribution, NoSamplesIsNoAttribution) {
  const Report report = Analyze(MakeWorkers(1));
  EXPECT_FALSE(report.attribution);
  EXPECT_THAT(FullText(report, false), ::testing::Not(HasSubstr("Who used the energy")));
  EXPECT_THAT(JsonText(report), HasSubstr("\"attribution\": null"));
}

TEST(EnergyAttribution, IdlePowerIsShownApart) {
  RunData run = MakeWorkers(1);
  AddSamples(
      run.ranks[0], PowerMetric("ipmi", "board"), [](int ms) { return ms <= 8 ? 40.0 : 100.0; },
      [](int) { return false; });
  run.ranks[0].facts.idle_begin_ns = 1 * kMs;
  run.ranks[0].facts.idle_end_ns = 8 * kMs;
  const EnergyAttribution all = Attribute(run);
  EXPECT_THAT(all.idle_watts, Optional(::testing::DoubleNear(40, 1e-9)));
  EXPECT_THAT(all.above_idle_joules, Optional(::testing::DoubleNear(60 * 0.030, 1e-9)));
  ASSERT_FALSE(all.classes.empty());
  EXPECT_EQ(all.classes[0].name, "gemm");
  EXPECT_THAT(all.classes[0].use.above_idle_joules,
              Optional(::testing::DoubleNear(60 * 0.012, 1e-9)));
}

// A meter that brings something new every 10 ms: its readings in between say nothing.
TEST(EnergyAttribution, AMeterThatUpdatesSeldom) {
  RunData run = MakeWorkers(1);
  Metric metric = PowerMetric("nvml", "board");
  metric.name = "gpu_energy";
  metric.unit = "joules";
  metric.kind = MetricKind::kEnergy;
  AddSamples(
      run.ranks[0], metric, [](int ms) { return 1.0 * Whole(ms, 10) + 0.005 * Whole(ms, 30); },
      [](int) { return false; });
  const EnergyAttribution all = Attribute(run);
  ASSERT_EQ(all.meters.size(), 1U);
  EXPECT_THAT(all.meters[0].update_ns, Optional(10 * kMs));
  EXPECT_NEAR(all.joules, 3.005, 1e-9);
  // Spread over its updates: 100, then 100.5 and 100 W, of which 18 of 30 ms were work.
  EXPECT_NEAR(SumOf(all.ranks), 3.005 * 0.6, 1e-9);
  EXPECT_GT(all.meters[0].boundary_joules.value_or(0), 0);
  EXPECT_TRUE(all.classes.back().use.estimate);  // 6 ms of elementwise against 10 ms updates
  EXPECT_THAT(FullText(Analyze(run), false), HasSubstr("a rough estimate"));
}

TEST(EnergyAttribution, TokensAndSamplesAreInferredAndSharedBatchesCountOnce) {
  RunData run = MakeWorkers(2);
  AddConstant(run.ranks[0], PowerMetric("ipmi", "board"), 100);
  for (RankData& rank : run.ranks) {
    rank.facts.step_tokens = 512;
    rank.facts.step_tokens_from = "inferred: indices";
    rank.facts.step_batch_ranks = 2;
  }
  run.ranks[0].facts.step_samples = 8;
  const EnergyAttribution all = Attribute(run);
  ASSERT_TRUE(all.tokens && all.samples);
  EXPECT_EQ(all.tokens->per_step, 512);
  EXPECT_THAT(all.tokens->per_joule, Optional(::testing::DoubleNear(512, 1e-6)));
  EXPECT_EQ(all.samples->per_step, 4);
  EXPECT_EQ(all.tokens->from, "inferred: indices");
}

// Whatever runs and however it is sampled: the shares are the whole, by every way of adding them.
TEST(EnergyAttribution, Conserves) {
  std::mt19937 random(7);
  const auto number = [&random](std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random);
  };
  for (int round = 0; round < 60; ++round) {
    const std::int64_t begin_ns = number(0, 500), end_ns = begin_ns + number(2'000, 9'000);
    std::vector<PowerCurve> curves;
    double whole = 0;
    for (int m = 0; m < 1 + round % 3; ++m) {
      Metric metric{.kind = number(0, 1) == 0 ? MetricKind::kEnergy : MetricKind::kGauge};
      std::vector<Sample> samples;
      double value = 0;
      for (std::int64_t t = number(0, 900); t < 10'000;
           t += number(1, 30) == 1 ? 700 : number(1, 90)) {
        value = metric.kind == MetricKind::kEnergy
                    ? value + static_cast<double>(number(0, 9)) * 1e-6
                    : static_cast<double>(number(0, 400));
        samples.push_back({0, t, number(0, 20) == 0 ? std::nan("") : value});
      }
      if (auto curve = PowerCurve::Build(metric, samples, {begin_ns, end_ns})) {
        whole += IntegrateEnergyJoules(metric.kind, samples, begin_ns, end_ns);
        curves.push_back(std::move(*curve));
      }
    }
    ASSERT_FALSE(curves.empty());
    std::vector<SplitMeter> meters;
    meters.reserve(curves.size());
    for (const PowerCurve& curve : curves) {
      meters.push_back({&curve, 0});
    }
    std::vector<Interval> operations;
    for (std::int64_t n = number(0, 400); n > 0; --n) {
      const std::int64_t at_ns = number(-500, 11'000);
      operations.emplace_back(at_ns, at_ns + (number(0, 9) == 0 ? 0 : number(0, 900)));
    }
    const EnergySplit split = SplitEnergy(meters, operations);
    double sum = 0;
    for (const EnergyShare& share : split.operations) {
      sum += share.joules;
      EXPECT_NEAR(share.joules, share.above_idle_joules, 1e-12);
    }
    for (const MeterRemainder& remainder : split.meters) {
      sum += remainder.idle_joules + remainder.gap_joules;
    }
    EXPECT_NEAR(sum, whole, 1e-9 * std::abs(whole)) << "round " << round;
  }
}

// Against the rule said another way: nanosecond by nanosecond.
TEST(EnergyAttribution, SweepIsTheRule) {
  const Metric metric{.kind = MetricKind::kGauge};
  const std::vector<Sample> samples = {{0, 0, 10}, {0, 40, 30}, {0, 80, 0}, {0, 120, 50}};
  const auto curve = PowerCurve::Build(metric, samples, {5, 110});
  ASSERT_TRUE(curve);
  const std::vector<Interval> operations = {{0, 30}, {20, 60}, {20, 60}, {70, 70}, {100, 200}};
  const std::vector<SplitMeter> meters = {{&*curve, 4}};
  const EnergySplit split = SplitEnergy(meters, operations);
  std::vector<double> joules(operations.size()), above(operations.size());
  double idle = 0;
  for (std::int64_t t = 5; t < 110; ++t) {
    const double energy = curve->JoulesUntil(t + 1) - curve->JoulesUntil(t);
    const auto runs = [t](const Interval& of) { return of.first <= t && t < of.second; };
    const auto running = std::count_if(operations.begin(), operations.end(), runs);
    idle += running == 0 ? energy : 0;
    for (std::size_t i = 0; i < operations.size(); ++i) {
      if (runs(operations[i])) {
        joules[i] += energy / static_cast<double>(running);
        above[i] += (energy - 4e-9) / static_cast<double>(running);
      }
    }
  }
  for (std::size_t i = 0; i < operations.size(); ++i) {
    EXPECT_NEAR(split.operations[i].joules, joules[i], 1e-15) << i;
    EXPECT_NEAR(split.operations[i].above_idle_joules, above[i], 1e-15) << i;
  }
  EXPECT_NEAR(split.meters[0].idle_joules, idle, 1e-15);
  EXPECT_EQ(split.meters[0].gap_joules, 0);
}

// Operations keep what a model gives them, however coarse the samples are.
TEST(EnergyAttribution, AModelsOperationsKeepTheirEnergy) {
  const Metric metric{.kind = MetricKind::kEnergy, .modelled = true};
  // 100 W idle for a second; 30 J and 10 J of two operations, and samples that saw their sum.
  constexpr std::int64_t kSecond = 1'000'000'000;
  const std::vector<Sample> samples = {{0, 0, 0}, {0, kSecond, 140}};
  const auto curve = PowerCurve::Build(metric, samples, {0, kSecond});
  ASSERT_TRUE(curve);
  const std::vector<SplitMeter> meters = {{&*curve, 100}};
  const std::vector<Interval> operations = {{0, kSecond / 2}, {kSecond / 4, kSecond / 2}};
  const std::vector<double> own = {30, 10};
  const EnergySplit split = SplitEnergy(meters, operations, own);
  EXPECT_DOUBLE_EQ(split.operations[0].above_idle_joules, 30);
  EXPECT_DOUBLE_EQ(split.operations[1].above_idle_joules, 10);
  EXPECT_DOUBLE_EQ(split.operations[0].joules, 30 + 25 + 12.5);
  EXPECT_DOUBLE_EQ(split.operations[1].joules, 10 + 12.5);
  EXPECT_DOUBLE_EQ(split.meters[0].idle_joules, 50);
}

}  // namespace
}  // namespace reprise
