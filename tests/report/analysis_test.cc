// Every measure of the report against a run worked out by hand.
#include "report/analysis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/nodes/measured.h"
#include "report/values/report.h"
#include "tests/report/synthetic_run.h"

namespace reprise {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Optional;

double Sum(const Coverage& coverage) { return coverage.Work() + coverage.waiting + coverage.host; }

const ClassRow& Class(const Report& report, const std::string& name) {
  for (const ClassRow& row : report.classes) {
    if (row.name == name) {
      return row;
    }
  }
  ADD_FAILURE() << "no class " << name;
  static const ClassRow none;
  return none;
}

TEST(Analyze, CoverageIsOfTheStepEachMomentOnce) {
  RunData run = MakeRun();
  run.ranks[0].nodes[4].recorded_start_ns = run.ranks[1].nodes[4].recorded_start_ns = 600;
  run.ranks[0].nodes[4].recorded_elapsed_ns = run.ranks[1].nodes[4].recorded_elapsed_ns = 250;
  const Report report = Analyze(run);
  EXPECT_EQ(report.recorded_ns, 2'000);
  // gemm 0-600; all_gather 600-850, which waits for its last member until 650; of the surrogate,
  // 700-900, the rest; the wait 900-950.
  EXPECT_DOUBLE_EQ(report.coverage.amount, 2'000);
  EXPECT_DOUBLE_EQ(report.coverage.real, 0.8);
  EXPECT_DOUBLE_EQ(report.coverage.surrogate, 0.05);
  EXPECT_DOUBLE_EQ(report.coverage.waiting, 0.1);
  EXPECT_DOUBLE_EQ(report.coverage.host, 0.05);
  EXPECT_DOUBLE_EQ(Sum(report.coverage), 1.0);
  EXPECT_EQ(report.host_ns, 100);
  EXPECT_EQ(report.wait_ns, 100);
  EXPECT_EQ(report.delay_ns, 200);
  EXPECT_THAT(report.notes, IsEmpty());
}

TEST(Analyze, StretchesAreOfWhatAThreadRanFasterThanRecorded) {
  RunData run = MakeRun();
  for (RankData& rank : run.ranks) {
    rank.nodes[0].recorded_duration_ns = 3'000;
    rank.nodes[0].recorded_tracing_ns = 600;
  }
  const Report report = Analyze(run);  // the gemm's median is 1,200; the surrogate was slower
  ASSERT_EQ(report.stretches.size(), 1U);
  EXPECT_EQ(report.stretches[0].name, "gemm");
  EXPECT_DOUBLE_EQ(report.stretches[0].factor, 2.0);
  RunData stretched = run;
  stretched.manifest.options["stretch.gemm"] = "2";
  EXPECT_THAT(Analyze(stretched).stretches, IsEmpty());
  EXPECT_THAT(Analyze(stretched).notes, Contains(HasSubstr("gemm by 2;")));
  run.ranks[0].nodes[0].actor = run.ranks[1].nodes[0].actor = "stream 0/7";
  EXPECT_THAT(Analyze(run).stretches, IsEmpty());
}

TEST(Analyze, CoverageEndsWithTheStepsWhateverRunsOutsideThem) {
  RunData run = MakeRun();
  for (RankData& rank : run.ranks) {
    rank.facts.first_step_ns = 200;
    rank.facts.recorded_steps_ns = {300, 400};  // 200 to 900
  }
  const Report report = Analyze(run);
  EXPECT_DOUBLE_EQ(report.coverage.amount, 1'400);
  EXPECT_DOUBLE_EQ(report.coverage.real, 600.0 / 700);  // gemm 200-600, all_gather 700-900
  EXPECT_DOUBLE_EQ(report.coverage.host, 100.0 / 700);
}

TEST(Analyze, ModesOfRecordsDecideAndWhatNeverRanIsSkipped) {
  RunData run = MakeRun();
  for (NodeRecord& record : run.ranks[0].records) {
    record.mode = record.node_id == 1 ? ReplayMode::kTimed : record.mode;
  }
  std::erase_if(run.ranks[1].records, [](const NodeRecord& record) { return record.node_id == 1; });
  const Report report = Analyze(run);
  EXPECT_DOUBLE_EQ(report.coverage.timed, 0.3);
  EXPECT_DOUBLE_EQ(report.coverage.skipped, 0.3);
  EXPECT_DOUBLE_EQ(report.coverage.real, 0.2);
  EXPECT_DOUBLE_EQ(Sum(report.coverage), 1.0);
  EXPECT_DOUBLE_EQ(report.ranks[1].coverage.skipped, 0.6);
  EXPECT_THAT(report.notes, Contains(HasSubstr("1 nodes that were planned to run")));
}

TEST(Analyze, StepTimeIsTheMedianOfTheSlowestRank) {
  const Report report = Analyze(MakeRun());
  // max(1500, 1400), max(1700, 1800), max(1600, 1550)
  EXPECT_THAT(report.step_time_replayed_ns, Optional(1'600));
  EXPECT_THAT(report.step_time_replayed_min_ns, Optional(1'500));
  EXPECT_THAT(report.step_time_replayed_max_ns, Optional(1'800));
  EXPECT_EQ(report.iterations, 3);
  EXPECT_THAT(report.step_time_recorded_ns, Optional(1'000));
  EXPECT_THAT(report.step_time_untraced_ns, Optional(800));
  EXPECT_THAT(report.ranks[1].step_time_replayed_ns, Optional(1'550));
  ASSERT_TRUE(report.fidelity.step_error && report.fidelity.untraced_error);
  EXPECT_NEAR(*report.fidelity.step_error, 0.6, 1e-12);
  EXPECT_NEAR(*report.fidelity.untraced_error, 1.0, 1e-12);
  // (1200 + 400) / (600 + 200) on both ranks
  ASSERT_TRUE(report.fidelity.work_error);
  EXPECT_NEAR(*report.fidelity.work_error, 1.0, 1e-12);
}

TEST(Analyze, ClassesHaveTimesAndRates) {
  const Report report = Analyze(MakeRun());
  ASSERT_EQ(report.classes.size(), 3U);
  EXPECT_EQ(report.classes.front().name, "gemm");  // the longest first
  const ClassRow& gemm = Class(report, "gemm");
  EXPECT_EQ(gemm.count, 2);
  EXPECT_EQ(gemm.recorded_ns, 1'200);
  EXPECT_THAT(gemm.replayed_ns, Optional(2'400));
  EXPECT_THAT(gemm.gflop_per_s, Optional(5.0));
  EXPECT_THAT(gemm.gb_per_s, Optional(1.0));
  // From the last arrival: 110 ns on both ranks, although rank 0 was there 50 ns before.
  EXPECT_THAT(Class(report, "comm").replayed_ns, Optional(220));
}

TEST(Analyze, KilledRunHasCoverageButNoTimes) {
  RunData run = MakeRun();
  run.manifest.complete = false;
  run.notes = {"not merged"};
  for (RankData& rank : run.ranks) {
    rank.steps.resize(1);  // the warm-up
  }
  const Report report = Analyze(run);
  EXPECT_FALSE(report.step_time_replayed_ns);
  EXPECT_FALSE(report.fidelity.work_error);
  EXPECT_FALSE(report.fidelity.step_error);
  EXPECT_FALSE(Class(report, "gemm").replayed_ns);
  EXPECT_FALSE(report.collectives.at(0).busbw_gb_per_s);
  EXPECT_DOUBLE_EQ(report.coverage.real, 0.8);
  EXPECT_THAT(report.notes, Contains("not merged"));
  EXPECT_THAT(report.notes, Contains(HasSubstr("nothing is measured")));
}

// A rank that lacks the last iteration: the step times are of those that all ranks have.
TEST(Analyze, IterationsThatARankLacksAreLeftOut) {
  RunData run = MakeRun();
  run.ranks[1].steps.pop_back();
  const Report report = Analyze(run);
  EXPECT_EQ(report.iterations, 2);
  EXPECT_THAT(report.step_time_replayed_ns, Optional(1'650));
}

TEST(Analyze, EmptyRunIsAllZeros) {
  RunData run;
  run.ranks.resize(1);
  const Report report = Analyze(run);
  EXPECT_EQ(report.recorded_ns, 0);
  EXPECT_EQ(Sum(report.coverage), 0);
  EXPECT_FALSE(report.step_time_recorded_ns);
  EXPECT_FALSE(report.energy_joules);
  EXPECT_THAT(report.classes, IsEmpty());
}

TEST(Analysis, LimitsOfDevicesAreTheBestThatRanksMeasured) {
  RunData run = MakeRun();
  EXPECT_TRUE(Analyze(run).device_limits.empty());
  run.ranks[0].facts.device_flops_per_second = 3e10;
  run.ranks[0].facts.device_bytes_per_second = 1e10;
  run.ranks[1].facts.device_flops_per_second = 4e10;
  run.ranks[1].facts.device_bytes_per_second = 0.9e10;
  const Report report = Analyze(run);
  ASSERT_EQ(report.device_limits.size(), 1U);
  EXPECT_EQ(report.device_limits[0].device, "opencl: cpu");
  EXPECT_EQ(report.device_limits[0].ranks, (std::vector<std::int32_t>{0, 1}));
  EXPECT_NEAR(report.device_limits[0].gflop_per_s, 40, 1e-9);
  EXPECT_NEAR(report.device_limits[0].gb_per_s, 10, 1e-9);
}

TEST(Analyze, FactsBecomeCountersAndNotes) {
  RunData run = MakeRun();
  run.manifest.oversubscribed = true;
  run.ranks[0].facts.missing_telemetry = {{"rapl", "permission denied: energy_uj"}};
  run.ranks[0].facts.plan_counters = {{"surrogate_no_kernel", 2}};
  run.ranks[1].facts.plan_counters = {{"surrogate_no_kernel", 3}};
  run.ranks[0].facts.modelled = true;
  run.ranks[1].facts.others = {{"of_another_version", "5"}};
  const Report report = Analyze(run);
  EXPECT_THAT(report.notes, Contains(HasSubstr("simulated")));
  EXPECT_THAT(report.notes, Contains(HasSubstr("does not know: of_another_version")));
  EXPECT_EQ(report.diagnostics.at("diagnostic.surrogate_no_kernel"), 5);
  EXPECT_THAT(report.notes, Contains(HasSubstr("rapl: permission denied")));
  EXPECT_THAT(report.verdict.warnings, Contains(HasSubstr("Oversubscribed")));
}

}  // namespace
}  // namespace reprise
