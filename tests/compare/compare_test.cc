// Runs side by side: ratios and their intervals, what is refused, what the verdict says.
#include "report/compare/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <random>

#include "report/analysis.h"
#include "report/compare/condition.h"
#include "report/compare/rows.h"
#include "tests/report/synthetic_run.h"

namespace reprise {
namespace {

using ::testing::AllOf;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Optional;

// The synthetic run with every measured time and step `factor` times as long.
RunData Slower(double factor) {
  RunData run = MakeRun();
  const auto scale = [factor](std::int64_t ns) {
    return static_cast<std::int64_t>(static_cast<double>(ns) * factor);
  };
  for (RankData& rank : run.ranks) {
    for (NodeRecord& record : rank.records) {
      const std::int64_t base_ns = kIterationNs * (record.iteration + 1);
      record.start_ns = base_ns + scale(record.start_ns - base_ns);
      record.duration_ns = scale(record.duration_ns);
    }
    for (StepRecord& step : rank.steps) {
      step.duration_ns = scale(step.duration_ns);
    }
  }
  run.manifest.trace_hash = "abc";
  run.manifest.trace_name = "synthetic";
  run.manifest.iterations = 3;
  run.manifest.options = {{"mode", "full"}};
  return run;
}

ComparedSide MakeSide(const std::string& label, const std::vector<RunData>& runs) {
  ComparedSide side{.label = label, .runs = {}};
  for (const RunData& run : runs) {
    side.runs.push_back({label + std::to_string(side.runs.size()), Analyze(run)});
  }
  return side;
}

std::vector<ComparedSide> TwoSides(double factor) {
  return {MakeSide("A", {Slower(1)}), MakeSide("B", {Slower(factor)})};
}

// Three runs each, which spread by half a percent.
std::vector<ComparedSide> RepeatedSides(double factor) {
  return {MakeSide("A", {Slower(1), Slower(1.005), Slower(0.995)}),
          MakeSide("B", {Slower(factor), Slower(1.005 * factor), Slower(0.995 * factor)})};
}

const ComparedRow& Row(const Comparison& comparison, const std::string& name) {
  const auto found = std::find_if(comparison.rows.begin(), comparison.rows.end(),
                                  [&](const ComparedRow& row) { return row.name == name; });
  EXPECT_NE(found, comparison.rows.end()) << name;
  return *found;
}

TEST(Quantity, MedianAndRange) {
  const auto quantity = Describe({3, 1, 2, 10});
  ASSERT_TRUE(quantity);
  EXPECT_EQ(quantity->value, 2.5);
  EXPECT_EQ(quantity->least, 1);
  EXPECT_EQ(quantity->most, 10);
  EXPECT_EQ(quantity->repeats, 4U);
  EXPECT_FALSE(Describe({}));
}

TEST(Quantity, StudentsQuantiles) {
  EXPECT_NEAR(StudentT975(1), 12.706, 1e-9);
  EXPECT_NEAR(StudentT975(4.9), 2.776, 1e-9);  // that of 4
  EXPECT_NEAR(StudentT975(30), 2.042, 1e-9);
  EXPECT_NEAR(StudentT975(1e12), 1.960, 1e-9);
}

// ln 2, 2, 2.1 against 1, 1, 1.1: worked out by hand from Welch's formulas.
TEST(Ratio, IntervalIsWelchsOnLogarithms) {
  const std::vector<double> base = {1, 1, 1.1};
  const std::vector<double> values = {2, 2, 2.1};
  const auto ratio = RatioOf(values, base);
  ASSERT_TRUE(ratio && ratio->low && ratio->high);
  EXPECT_EQ(ratio->value, 2);
  const double a = std::log(1.1);
  const double b = std::log(1.05);
  // The variance of {0, 0, x} is x²/3; of the mean of three a third of that.
  const double va = M_PI / 2 * a * a / 9;
  const double vb = M_PI / 2 * b * b / 9;
  const double degrees = (va + vb) * (va + vb) / (va * va / 2 + vb * vb / 2);  // 2.97: that of 2
  ASSERT_NEAR(degrees, 2.97, 0.03);
  EXPECT_NEAR(std::log(*ratio->high / 2), 4.303 * std::sqrt(va + vb), 1e-9);
  EXPECT_NEAR(*ratio->low * *ratio->high, 4, 1e-9);
}

TEST(Ratio, OneValueHasNoIntervalAndNoDifferenceIsShown) {
  const std::vector<double> one = {2};
  const std::vector<double> base = {1, 1.01};
  const auto ratio = RatioOf(one, base);
  ASSERT_TRUE(ratio);
  EXPECT_FALSE(ratio->low || ratio->high);
  EXPECT_FALSE(ratio->Differs());
  EXPECT_FALSE(RatioOf({}, base));
  EXPECT_FALSE(RatioOf(std::vector<double>{0.0, 1.0}, base));
}

// Of normal values the interval holds the true ratio in 95 of 100 cases or more, for few as for
// many values: it is cautious, not narrow.
TEST(Ratio, IntervalsHoldTheTruth) {
  std::mt19937 random(7);
  for (const int repeats : {2, 3, 5, 10, 30}) {
    std::normal_distribution<double> noise(0, 0.05);
    int held = 0;
    constexpr int kTrials = 2'000;
    for (int trial = 0; trial < kTrials; ++trial) {
      std::vector<double> base;
      std::vector<double> values;
      for (int k = 0; k < repeats; ++k) {
        base.push_back(std::exp(noise(random)));
        values.push_back(1.3 * std::exp(noise(random)));
      }
      const auto ratio = RatioOf(values, base);
      held += *ratio->low <= 1.3 && 1.3 <= *ratio->high ? 1 : 0;
    }
    EXPECT_GT(held, 0.94 * kTrials) << repeats;
    EXPECT_LT(held, 0.995 * kTrials) << repeats;
  }
}

TEST(Compare, RatiosAreToTheFirstSide) {
  const auto sides = TwoSides(2);
  ASSERT_THAT(FindIncomparable(sides), IsEmpty());
  const Comparison comparison = Compare(sides, {});
  const ComparedRow& time = Row(comparison, "time");
  // Steps of 1,500, 1,800, 1,600 ns: the longest rank's of each iteration.
  EXPECT_NEAR(time.cells[0].quantity->value, 1.6e-6, 1e-15);
  EXPECT_EQ(time.cells[0].quantity->repeats, 3U);
  EXPECT_EQ(time.cells[0].ratio->value, 1);
  EXPECT_NEAR(time.cells[1].ratio->value, 2, 1e-9);
  EXPECT_FALSE(time.cells[1].ratio->low) << "from one run to the next nothing is known";
  // Both ranks' medians of 1,200 ns.
  EXPECT_NEAR(Row(comparison, "class.gemm").cells[0].quantity->value, 2.4e-6, 1e-15);
  EXPECT_NEAR(Row(comparison, "class.gemm").cells[1].ratio->value, 2, 1e-9);
  EXPECT_FALSE(Row(comparison, "class.gemm").cells[1].ratio->low);
  // 110 ns each for two members, once a pass.
  EXPECT_NEAR(Row(comparison, "collective.all_gather").cells[0].quantity->value, 0.22e-6, 1e-15);
  ASSERT_EQ(comparison.transfers.size(), 1U);
  EXPECT_EQ(comparison.transfers[0].bytes, 1'100);
  EXPECT_NEAR(comparison.transfers[0].cells[1]->ratio->value, 2, 1e-9);
  // Shares are no ratios.
  const ComparedCell& coverage = Row(comparison, "coverage").cells[1];
  EXPECT_FALSE(coverage.ratio);
  EXPECT_THAT(coverage.difference, Optional(DoubleNear(0, 1e-12)));
}

TEST(Compare, VerdictSaysHowMuchAndWhere) {
  const Comparison comparison = Compare(RepeatedSides(1.25), {});
  ASSERT_EQ(comparison.verdicts.size(), 1U);
  EXPECT_THAT(comparison.verdicts[0], AllOf(HasSubstr("B takes 25 % more time than A (1.2"),
                                            HasSubstr("gemm"), HasSubstr("above all ")));
  EXPECT_THAT(Compare(RepeatedSides(2.5), {}).verdicts[0],
              HasSubstr("B takes 2.5 times as long as A (2."));
  const Comparison same = Compare(RepeatedSides(1.0), {});
  EXPECT_THAT(same.verdicts[0], HasSubstr("no difference in time shown between B and A"));
  EXPECT_THAT(same.verdicts[0], Not(HasSubstr("of the difference")));
  EXPECT_THAT(Compare(RepeatedSides(0.88), {}).verdicts[0],
              HasSubstr("B takes 12 % less time than A (0.8"));
}

TEST(Compare, VerdictSaysWhetherOtherPartsDifferTheOtherWay) {
  const std::vector<ComparedSide> sides = RepeatedSides(1.25);
  Comparison comparison = Compare(sides, {});
  DifferenceParts& difference = comparison.differences[0].emplace();
  difference = {
      .on_critical_path = true, .seconds = 2, .parts = {{"gemm", 1.5}, {"host_delay", 0.5}}};
  EXPECT_THAT(VerdictText(sides, comparison, 1),
              HasSubstr("75 % of the difference is gemm, 25 % host delay"));
  EXPECT_THAT(VerdictText(sides, comparison, 1), Not(HasSubstr("the other way")));
  difference.parts = {{"gemm", 2.5}, {"comm", -0.5}};
  EXPECT_THAT(VerdictText(sides, comparison, 1),
              HasSubstr("125 % of the difference is gemm; other parts differ the other way"));
}

TEST(Compare, VerdictNamesTheOperationAndShapeAboveAll) {
  std::vector<ComparedSide> sides = RepeatedSides(1.25);
  const auto shapes = [](std::int64_t slow_ns) {
    return std::vector<ShapeRow>{
        {.name = "aten::mm", .op_class = "gemm", .shape = "[8,8] [8,8]", .replayed_ns = 2'000},
        {.name = "aten::bmm", .op_class = "gemm", .shape = "[1,64,64]", .replayed_ns = slow_ns},
        {.name = "aten::add", .op_class = "elementwise", .shape = "[9]", .replayed_ns = 9'000}};
  };
  for (ComparedSide& side : sides) {
    for (ComparedRun& run : side.runs) {
      run.report.shapes = shapes(side.label == "A" ? 1'000 : 28'000);
    }
  }
  EXPECT_THAT(Compare(sides, {}).verdicts[0],
              HasSubstr("; above all aten::bmm [1,64,64] +27.0 us (28x)"));
  // What only one side has, or what differs the other way, explains nothing.
  for (ComparedRun& run : sides[0].runs) {
    run.report.shapes[1].replayed_ns = 90'000;
  }
  EXPECT_THAT(Compare(sides, {}).verdicts[0], Not(HasSubstr("above all")));
}

TEST(Compare, SingleRunsMakeNoClaim) {
  const Comparison comparison = Compare(TwoSides(2), {});
  EXPECT_THAT(comparison.verdicts[0],
              AllOf(HasSubstr("B and A, one run each: no claim; "),
                    HasSubstr("times vary too much for ±3 %"), Not(HasSubstr("gemm"))));
  EXPECT_TRUE(Row(comparison, "time").cells[1].runs_needed);
  // Steps that do not spread need the least that has a spread at all.
  EXPECT_EQ(RepeatsFor(0.03, std::vector<double>{1, 1}, std::vector<double>{2, 2}), 2U);
}

TEST(Compare, NobodyIsAskedForHundredsOfRepeats) {
  const auto sides = TwoSides(2);
  Comparison comparison = Compare(sides, {});
  for (ComparedRow& row : comparison.rows) {
    if (row.name == "time") {
      row.cells[1].runs_needed = 591;
      EXPECT_THAT(VerdictText(sides, comparison, 1),
                  HasSubstr("times vary too much for ±3 %: 1.50 us to 1.80 us, 3.00 us"));
      row.cells[1].runs_needed.reset();  // more than a thousand
      EXPECT_THAT(VerdictText(sides, comparison, 1), HasSubstr("times vary too much"));
      row.cells[1].quantity->repeats = 1;
      EXPECT_THAT(VerdictText(sides, comparison, 1), HasSubstr("several repeats of each"));
    }
  }
}

// The number that is named is the number that does it.
TEST(Ratio, RepeatsForAnIntervalOfThreePercent) {
  const std::vector<double> base = {1.00, 1.02, 0.98, 1.01};
  const std::vector<double> values = {1.10, 1.13, 1.07, 1.12};
  const auto repeats = RepeatsFor(0.03, values, base);
  ASSERT_TRUE(repeats);
  EXPECT_GT(*repeats, 3U);
  EXPECT_LT(*repeats, 20U);
  EXPECT_GT(*RepeatsFor(0.01, values, base), *repeats);
  EXPECT_FALSE(RepeatsFor(0.03, std::vector<double>{1.0}, base));
  EXPECT_FALSE(RepeatsFor(1e-6, values, base));
}

TEST(Compare, AWideSpreadIsNamed) {
  const std::vector<ComparedSide> sides = {MakeSide("A", {Slower(1), Slower(1.2), Slower(0.9)}),
                                           MakeSide("B", {Slower(1.1), Slower(1), Slower(1.3)})};
  EXPECT_THAT(Compare(sides, {}).verdicts[0],
              AllOf(HasSubstr("no difference in time shown"),
                    HasSubstr("times vary too much for ±3 %: 1.44 us to 1.92 us, ")));
}

// An anonymized set has other bytes and names, and the same recorded work.
TEST(Compare, OtherFilesWithTheSameWorkCompare) {
  RunData other = Slower(2);
  other.manifest.trace_hash = "def";
  other.manifest.trace_name = "shared";
  EXPECT_THAT(FindIncomparable({MakeSide("A", {Slower(1)}), MakeSide("B", {other})}), IsEmpty());
}

// A pass that moved the other way than the steps did explains nothing.
TEST(Compare, CausesThatPointTheOtherWayAreNotNamed) {
  std::vector<ComparedSide> sides = RepeatedSides(1.5);
  std::swap(sides[0].runs, sides[1].runs);
  for (std::size_t run = 0; run < sides[0].runs.size(); ++run) {
    std::swap(sides[0].runs[run].report.iteration_step_ns,
              sides[1].runs[run].report.iteration_step_ns);
  }
  const Comparison comparison = Compare(sides, {});
  ASSERT_LT(comparison.differences[0]->seconds, 0);
  EXPECT_THAT(comparison.verdicts[0], AllOf(HasSubstr("more time"), Not(HasSubstr("gemm"))));
}

TEST(Compare, PartsAddUpToTheDifference) {
  const Comparison comparison = Compare(TwoSides(2), {});
  ASSERT_TRUE(comparison.differences[0]);
  const DifferenceParts& parts = *comparison.differences[0];
  double sum = 0;
  for (const auto& part : parts.parts) {
    sum += part.seconds;
  }
  EXPECT_NEAR(sum, parts.seconds, 1e-15);
  EXPECT_GT(parts.seconds, 0);
  EXPECT_GT(parts.base_seconds, 0);
}

TEST(Compare, RepeatsAreRunsWhereEverySideHasSeveral) {
  const std::vector<ComparedSide> sides = {MakeSide("A", {Slower(1), Slower(1.02), Slower(1.01)}),
                                           MakeSide("B", {Slower(2), Slower(2.1), Slower(2.05)})};
  const Comparison comparison = Compare(sides, {});
  EXPECT_TRUE(comparison.repeats_are_runs);
  const ComparedCell& cell = Row(comparison, "time").cells[1];
  EXPECT_EQ(cell.quantity->repeats, 3U);
  EXPECT_NEAR(cell.ratio->value, 2.05 / 1.01, 0.005);
  EXPECT_TRUE(Row(comparison, "class.gemm").cells[1].ratio->low);
  const Comparison mixed = Compare({sides[0], MakeSide("B", {Slower(2)})}, {});
  EXPECT_FALSE(mixed.repeats_are_runs);
  EXPECT_EQ(Row(mixed, "time").cells[0].quantity->repeats, 9U);
}

TEST(Compare, NothingMeasuredHasNoRatio) {
  RunData nothing = Slower(1);
  for (RankData& rank : nothing.ranks) {
    rank.records.clear();
    rank.steps.clear();
  }
  const std::vector<ComparedSide> sides = {MakeSide("A", {Slower(1)}), MakeSide("B", {nothing})};
  const auto found = FindIncomparable(sides);
  EXPECT_TRUE(std::any_of(found.begin(), found.end(),
                          [](const Incomparable& of) { return of.key == "iterations"; }));
  const Comparison comparison = Compare(sides, found);
  EXPECT_FALSE(Row(comparison, "time").cells[1].quantity);
  EXPECT_THAT(comparison.verdicts[0], HasSubstr("no ratio of times"));
  EXPECT_THAT(ComparisonText(sides, comparison, false, true), HasSubstr("not the same iterations"));
}

// What another optimizer changes is named, and not what happens to be alike, once for all runs.
TEST(Compare, OtherWorkIsNamedByTheCountThatDiffersMost) {
  const auto side = [](const char* label, const char* trace, std::int64_t elementwise,
                       std::int64_t conv_ns) {
    ComparedSide of = MakeSide(label, {Slower(1), Slower(1)});
    for (ComparedRun& run : of.runs) {
      run.report.manifest.trace_hash = trace;
      run.report.classes.push_back({.name = "conv", .count = 12, .recorded_ns = conv_ns});
      run.report.classes.push_back({.name = "optimizer", .count = elementwise / 100});
      run.report.classes.push_back({.name = "elementwise", .count = elementwise});
    }
    return of;
  };
  const auto why = [](const std::vector<ComparedSide>& sides) {
    const auto found = FindIncomparable(sides);
    EXPECT_EQ(found.size(), 1U);
    return found.empty() ? std::string() : found.front().why;
  };
  EXPECT_THAT(why({side("A", "one", 1'800, 90), side("B", "two", 800, 80)}),
              AllOf(HasSubstr("elementwise 1800 times and 800 times"),
                    Not(HasSubstr("two captures of one job"))));
  EXPECT_THAT(why({side("A", "one", 800, 90), side("B", "two", 800, 80)}),
              AllOf(HasSubstr("as many operations"), HasSubstr("two captures of one job")));
}

struct Change {
  const char* key;
  void (*make)(RunData&);
};

class Refused : public ::testing::TestWithParam<Change> {};

TEST_P(Refused, WhatIsNotTheSame) {
  RunData other = Slower(1);
  GetParam().make(other);
  const std::vector<ComparedSide> sides = {MakeSide("A", {Slower(1)}), MakeSide("B", {other})};
  const auto found = FindIncomparable(sides);
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found.front().key, GetParam().key);
  EXPECT_THAT(found.front().why, HasSubstr("B"));
  // Among the repeats of one side too.
  EXPECT_FALSE(FindIncomparable({MakeSide("A", {Slower(1), other})}).empty());
}

INSTANTIATE_TEST_SUITE_P(
    Compare, Refused,
    ::testing::Values(
        Change{"trace",
               [](RunData& run) {
                 run.manifest.trace_hash = "def";
                 run.ranks[0].nodes[0].recorded_duration_ns += 100;
               }},
        Change{"part", [](RunData& run) { run.manifest.world_size = 4; }},
        Change{"part", [](RunData& run) { run.manifest.options["range"] = "0:10"; }},
        Change{"part", [](RunData& run) { run.manifest.options["time_scale.gemm"] = "2"; }},
        Change{"mode", [](RunData& run) { run.manifest.options["mode"] = "comm"; }},
        Change{"mode", [](RunData& run) { run.manifest.options["ops.gemm"] = "timed"; }},
        Change{"mode", [](RunData& run) { run.manifest.options["mode"] = kMonitorMode; }},
        Change{"coverage", [](RunData& run) {
                 for (RankData& rank : run.ranks) {
                   rank.nodes[0].mode = ReplayMode::kTimed;
                   for (NodeRecord& record : rank.records) {
                     record.mode = record.node_id == 1 ? ReplayMode::kTimed : record.mode;
                   }
                 }
               }}));

TEST(Compare, APredictionBesideAReplayHasErrors) {
  RunData run = Slower(1.5);
  run.manifest.options = {{"mode", "simulate"}, {"machine", "h100-hgx"}, {"time_scale", "1"}};
  const ComparedSide measured = MakeSide("measured", {Slower(1)});
  const ComparedSide predicted = MakeSide("predicted", {run});
  for (const auto& sides : {std::vector{measured, predicted}, std::vector{predicted, measured}}) {
    const auto found = FindIncomparable(sides);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_TRUE(found[0].expected);
    const Comparison comparison = Compare(sides, found);
    EXPECT_THAT(comparison.verdicts[0],
                HasSubstr("predicted is modelled: its step is +50 % against measured; by class: "
                          "gemm +50 %, elementwise +50 %, comm +50 %"));
    EXPECT_THAT(comparison.warnings.front(),
                HasSubstr("predicted is modelled (simulated on h100-hgx), measured was replayed"));
  }
  // What was replayed must still be the same.
  run.manifest.options["steps"] = "0";
  EXPECT_FALSE(FindIncomparable({measured, MakeSide("predicted", {run})}).front().expected);
}

TEST(Compare, ClassesOfRanksCountAsRanks) {
  RunData folded = MakeRun();
  folded.ranks[1].facts.class_ranks = 127;
  folded.ranks[1].facts.class_members = "1-127";
  const ComparedSide side = MakeSide("A", {folded});
  RunData other = folded;
  other.ranks[1].facts.class_ranks = 63;
  const auto found = FindIncomparable({side, MakeSide("B", {other})});
  ASSERT_FALSE(found.empty());
  EXPECT_THAT(found.front().why, HasSubstr("A ran 128 ranks, B 64"));
  EXPECT_EQ(DevicesText(side.runs[0].report), "128 x opencl: cpu");
}

// As if one meter had read 5 W and 10 J.
void AddMeter(const std::string& source, Report& report) {
  report.energy_joules = 10;
  report.mean_watts = 5;
  report.energy = {{.host = "h",
                    .device = "d",
                    .metric = "power",
                    .source = source,
                    .modelled = source == "model",
                    .in_total = true,
                    .joules = 10,
                    .mean_watts = 5,
                    .ranks = {}}};
}

TEST(Compare, OtherMetersHaveNoRatio) {
  std::vector<ComparedSide> sides = TwoSides(2);
  AddMeter("rapl", sides[0].runs[0].report);
  AddMeter("model", sides[1].runs[0].report);
  const ComparedRow row = Row(Compare(sides, {}), "power");
  EXPECT_FALSE(row.cells[1].ratio);
  EXPECT_THAT(row.note, AllOf(HasSubstr("rapl"), HasSubstr("model (modelled)")));
  // Two vendors' GPUs are meters of one kind.
  AddMeter("nvml", sides[0].runs[0].report);
  AddMeter("amd_smi", sides[1].runs[0].report);
  EXPECT_TRUE(Row(Compare(sides, {}), "power").cells[1].ratio);
}

TEST(Compare, WhatIsModelledIsSaidOfThatAlone) {
  std::vector<ComparedSide> sides = TwoSides(2);
  Report& report = sides[1].runs[0].report;
  AddMeter("model", report);
  report.thermal.peaks = {{.modelled = true, .max_watts = 5}};
  report.thermal.heating = {{.max_celsius = 60}};
  const Comparison comparison = Compare(sides, {});
  EXPECT_TRUE(Row(comparison, "power").cells[1].modelled);
  EXPECT_TRUE(Row(comparison, "peak_power").cells[1].modelled);
  EXPECT_FALSE(Row(comparison, "temperature").cells[1].modelled);
  EXPECT_FALSE(Row(comparison, "time").cells[1].modelled);
}

// An original that was watched beside its replay: power compares, steps do not.
TEST(Compare, WatchedProgramsHaveNoSteps) {
  std::vector<ComparedSide> sides = TwoSides(2);
  for (ComparedSide& side : sides) {
    AddMeter("nvml", side.runs[0].report);
  }
  sides[0].runs[0].report.manifest.options["mode"] = kMonitorMode;
  const auto found = FindIncomparable(sides);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].key, "mode");
  const Comparison comparison = Compare(sides, found);
  EXPECT_FALSE(Row(comparison, "time").cells[1].ratio);
  EXPECT_THAT(comparison.verdicts[0], HasSubstr("a watched program is no step"));
  EXPECT_TRUE(Row(comparison, "power").cells[1].ratio);
}

TEST(Compare, SettingsThatDiffer) {
  RunData other = Slower(1);
  other.manifest.devices = {"opencl: gpu", "opencl: gpu"};
  other.manifest.options["algo"] = "ring";
  const Comparison comparison = Compare({MakeSide("A", {Slower(1)}), MakeSide("B", {other})}, {});
  ASSERT_EQ(comparison.settings.size(), 2U);
  EXPECT_EQ(comparison.settings[0].name, "devices");
  EXPECT_THAT(comparison.settings[0].values, ElementsAre("2 x opencl: cpu", "2 x opencl: gpu"));
  EXPECT_EQ(comparison.settings[1].name, "option algo");
  EXPECT_THAT(comparison.settings[1].values, ElementsAre("", "ring"));
}

TEST(Compare, JsonHoldsWhatIsKnownAndNullForTheRest) {
  const auto sides = TwoSides(2);
  const auto json = nlohmann::json::parse(ComparisonJson(sides, Compare(sides, {}), {"heatmap"}));
  EXPECT_EQ(json["figures"][0], "heatmap");
  EXPECT_EQ(json["repeats"], "iterations");
  EXPECT_EQ(json["sides"][1]["label"], "B");
  EXPECT_TRUE(json["sides"][1]["number"].is_null());
  EXPECT_EQ(json["sides"][0]["runs"][0]["step_seconds"].size(), 3U);
  EXPECT_EQ(json["quantities"][0]["name"], "time");
  EXPECT_NEAR(json["quantities"][0]["cells"][1]["ratio"]["value"].get<double>(), 2, 1e-9);
  EXPECT_EQ(json["heat"][0]["ranks"].size(), 2U);
  for (const auto& rank : json["heat"][0]["ranks"]) {
    EXPECT_EQ(rank["values"].size(), json["heat"][0]["metrics"].size());
  }
}

TEST(Compare, HostileLabelsAreTextInMarkdown) {
  std::vector<ComparedSide> sides = TwoSides(2);
  sides[1].label = "<script>|`x`";
  const std::string text = ComparisonMarkdown(sides, Compare(sides, {}));
  EXPECT_THAT(text, HasSubstr("\\<script\\>\\|\\`x\\`"));
  EXPECT_THAT(text, Not(HasSubstr("<script>")));
}

TEST(Compare, TextKeepsWithinAHundredColumns) {
  std::vector<ComparedSide> sides;
  sides.reserve(5);
  for (int k = 0; k < 5; ++k) {
    sides.push_back(
        MakeSide("a-rather-long-label-of-a-side-" + std::to_string(k), {Slower(1 + k)}));
  }
  const std::string text = ComparisonText(sides, Compare(sides, {}), false, true);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    EXPECT_LE(end - at, 100U) << text.substr(at, end - at);
    at = end + 1;
  }
}

TEST(Condition, Parses) {
  const auto conditions = ParseConditions("time>1.05 || class.gemm.energy.low <= 2e0");
  ASSERT_TRUE(conditions);
  ASSERT_EQ(conditions->size(), 2U);
  EXPECT_EQ((*conditions)[0].name, "time");
  EXPECT_EQ((*conditions)[0].of, Condition::Of::kRatio);
  EXPECT_EQ((*conditions)[1].name, "class.gemm.energy");
  EXPECT_EQ((*conditions)[1].of, Condition::Of::kLow);
  EXPECT_EQ((*conditions)[1].comparison, "<=");
  EXPECT_EQ((*conditions)[1].bound, 2);
  for (const char* wrong :
       {"", "time", "time>", ">1", "time>1.05x", "time==1", "time>nan", "a>1||"}) {
    const auto failed = ParseConditions(wrong);
    ASSERT_FALSE(failed) << wrong;
    EXPECT_EQ(failed.error().kind, ErrorKind::kUsage);
  }
}

TEST(Condition, HoldsOrNotOrCannotBeChecked) {
  const auto sides = TwoSides(2);
  const Comparison comparison = Compare(sides, {});
  const auto check = [&](const char* text) {
    return FindViolations(*ParseConditions(text), sides, comparison);
  };
  EXPECT_THAT(*check("time>1.9"), ElementsAre(HasSubstr("B: time>1.9 holds, it is 2")));
  EXPECT_THAT(*check("time>2.5"), IsEmpty());
  EXPECT_EQ(check("time>2.5||time>=1.5")->size(), 1U);
  EXPECT_EQ(check("time.value>1e-6")->size(), 2U);
  EXPECT_EQ(check("none>1").error().kind, ErrorKind::kUsage);
  // What can't be checked must not pass.
  EXPECT_EQ(check("coverage>1").error().kind, ErrorKind::kBadInput);
  EXPECT_EQ(check("class.gemm.high>1").error().kind, ErrorKind::kBadInput);
}

}  // namespace
}  // namespace reprise
