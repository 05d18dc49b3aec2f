// Numbers of recordings by name, made by hand: conditions, tables and figures take them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "report/compare/compare.h"
#include "report/compare/condition.h"

namespace reprise {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TimedOperation Operation(std::string name, OpClass op_class, std::int64_t start_ns,
                         std::int64_t time_ns, std::string shape) {
  return {.name = std::move(name),
          .shape = std::move(shape),
          .op_class = op_class,
          .phase = Phase::kForward,
          .transfer = op_class == OpClass::kComm,
          .thread = op_class == OpClass::kComm ? kTransferThread : 1,
          .start_ns = start_ns,
          .end_ns = start_ns + time_ns,
          .time_ns = time_ns};
}

// Two ranks: a product, an addition, and an all_reduce of which half is exposed.
JobOperations TwoRanks(std::string label, std::int64_t gemm_ns) {
  JobOperations job{.label = std::move(label), .world_size = 2};
  for (std::int32_t r = 0; r < 2; ++r) {
    RankOperations rank;
    rank.rank = r;
    rank.steps = 1;
    rank.step_ns = {10'000 + gemm_ns};
    rank.operations = {Operation("all_reduce", OpClass::kComm, 5'000, 4'000, "all_reduce 64 B"),
                       Operation("aten::mm", OpClass::kGemm, 0, gemm_ns, "[8,8] [8,8]"),
                       Operation("aten::add", OpClass::kElementwise, gemm_ns, 1'000, "[8,8]")};
    rank.activity = {RankActivity{.steps_ns = 10'000 + gemm_ns,
                                  .busy_ns = gemm_ns + 1'000,
                                  .other_idle_ns = 9'000,
                                  .transfers_ns = 4'000,
                                  .exposed_ns = 2'000}};
    job.ranks.push_back(std::move(rank));
  }
  return job;
}

// The report of the same: sums of both ranks.
Report ReportOf(std::int64_t gemm_ns) {
  Report report;
  report.manifest.options = {{"mode", kRecordedMode}};
  report.manifest.world_size = 2;
  report.ranks.resize(2);
  report.iteration_step_ns = {10'000 + gemm_ns};
  report.step_time_replayed_ns = 10'000 + gemm_ns;
  report.classes = {{.name = "gemm", .count = 2, .replayed_ns = 2 * gemm_ns},
                    {.name = "elementwise", .count = 2, .replayed_ns = 2'000}};
  report.collectives = {{.name = "all_reduce",
                         .group_size = 2,
                         .bytes = 64,
                         .count = 1,
                         .replayed_ns = 4'000,
                         .members_ns = 8'000}};
  return report;
}

struct Compared {
  std::vector<ComparedSide> sides;
  Comparison comparison;
};

// Sides by label: of each repeat how long its product takes.
Compared CompareAll(const std::vector<std::pair<std::string, std::vector<std::int64_t>>>& sides) {
  Compared out;
  for (const auto& [label, repeats] : sides) {
    ComparedSide& side = out.sides.emplace_back(ComparedSide{.label = label, .runs = {}});
    for (const std::int64_t gemm_ns : repeats) {
      side.runs.push_back({.path = "set",
                           .report = ReportOf(gemm_ns),
                           .part = {{0, 1}, {1, 1}},
                           .operations = TwoRanks(label, gemm_ns)});
    }
  }
  AlignSides(out.sides);
  out.comparison = Compare(out.sides, {});
  return out;
}

std::vector<std::string> Violations(const Compared& of, const std::string& condition) {
  const auto found = FindViolations(*ParseConditions(condition), of.sides, of.comparison);
  return found ? *found : std::vector<std::string>{found.error().message};
}

TEST(RecordedSidesTest, ConditionsTakeThem) {
  const auto of = CompareAll({{"a", {4'000}}, {"b", {8'000}}});
  EXPECT_THAT(Violations(of, "class.gemm>1.9"), ElementsAre("b: class.gemm>1.9 holds, it is 2"));
  EXPECT_THAT(Violations(of, "class.gemm>2.1 || time>1.3"), IsEmpty());
  EXPECT_THAT(Violations(of, "class.elementwise>1"), IsEmpty());
  EXPECT_THAT(Violations(of, "collective.all_reduce>=1"), testing::SizeIs(1));
  // Of operations: sums of both ranks.
  EXPECT_THAT(Violations(of, "idle.value>0.0000179"), testing::SizeIs(2));
  EXPECT_THAT(Violations(of, "idle.value>0.0000181"), IsEmpty());
  EXPECT_THAT(Violations(of, "class.gemm.value>0.000015"), ElementsAre(HasSubstr("it is 1.6e-05")));
  EXPECT_THAT(Violations(of, "aligned.value<1"), IsEmpty());
  // What cannot be checked does not pass.
  EXPECT_THAT(Violations(of, "time.low>1"), ElementsAre(HasSubstr("can't be checked for b")));
  EXPECT_THAT(Violations(of, "energy>1"), ElementsAre(HasSubstr("these recordings have no")));
}

TEST(RecordedSidesTest, RepeatsHaveIntervals) {
  const auto of = CompareAll({{"a", {4'000, 4'010, 4'020}}, {"b", {8'000, 8'010, 8'030}}});
  EXPECT_TRUE(of.comparison.repeats_are_runs);
  EXPECT_THAT(Violations(of, "class.gemm.low>1.95"), testing::SizeIs(1));
  EXPECT_THAT(Violations(of, "class.elementwise.low>1"), IsEmpty());
  const std::string text = ComparisonText(of.sides, of.comparison, false, false);
  EXPECT_THAT(text, HasSubstr("Medians over recordings"));
  EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 40);
  EXPECT_EQ(nlohmann::json::parse(ComparisonJson(of.sides, of.comparison, {}))["repeats"],
            "recordings");
}

TEST(RecordedSidesTest, MarkdownHasTheTablesOfTheConsole) {
  const auto of = CompareAll({{"a|x", {4'000}}, {"b", {8'000}}});
  const std::string text = ComparisonMarkdown(of.sides, of.comparison);
  EXPECT_THAT(text, HasSubstr("## b against a\\|x"));
  EXPECT_THAT(text, HasSubstr("### Time by class"));
  EXPECT_THAT(text, HasSubstr("| gemm | 2 | 4.00 us | 8.00 us | 2.00x | +4.00 us |"));
  const std::string figure = ComparisonJson(of.sides, of.comparison, {"parallelism"});
  const auto json = nlohmann::json::parse(figure);
  EXPECT_EQ(json["sides"][1]["load"]["ranks"].size(), 2U);
  EXPECT_EQ(json["quantities"][0]["name"], "time");
}

TEST(RecordedSidesTest, OneAloneHasItsRanks) {
  Compared of;
  of.sides = {
      {.label = "a",
       .runs = {{.path = "set", .report = ReportOf(4'000), .operations = TwoRanks("a", 4'000)}}}};
  of.comparison = Compare(of.sides, {});
  EXPECT_THAT(ComparisonText(of.sides, of.comparison, false, false), HasSubstr("no straggler"));
  const auto json = nlohmann::json::parse(ComparisonJson(of.sides, of.comparison, {}));
  EXPECT_EQ(json["kind"], "ranks");
  EXPECT_EQ(json["path"], "set");
  EXPECT_EQ(json["repeats"], "none");
}

TEST(RecordedSidesTest, OtherJobsAndOtherPartsAreRefused) {
  Compared of = CompareAll({{"a", {4'000}}, {"b", {8'000}}});
  EXPECT_THAT(FindIncomparable(of.sides), IsEmpty());
  for (RankOperations& rank : of.sides[1].runs[0].operations->ranks) {
    for (TimedOperation& operation : rank.operations) {
      operation = Operation("other::" + operation.name, OpClass::kOther, operation.start_ns, 1, "");
    }
  }
  AlignSides(of.sides);
  ASSERT_THAT(FindIncomparable(of.sides), testing::SizeIs(1));
  EXPECT_EQ(FindIncomparable(of.sides)[0].key, "trace");
  Compared repeats = CompareAll({{"a", {4'000, 4'010}}, {"b", {8'000, 8'010}}});
  repeats.sides[1].runs[1].part = {{0, 1}};
  ASSERT_THAT(FindIncomparable(repeats.sides), testing::SizeIs(1));
  EXPECT_EQ(FindIncomparable(repeats.sides)[0].key, "part");
  EXPECT_THAT(FindIncomparable(repeats.sides)[0].why, HasSubstr("2 ranks, 1 step"));
}

TEST(RecordedSidesTest, WhatOnlyOneSideHasIsSaid) {
  Compared of = CompareAll({{"a", {4'000}}, {"b", {8'000}}});
  of.sides[0].runs[0].part = {{0, 3}, {1, 3}};
  const Comparison comparison = Compare(of.sides, {});
  EXPECT_THAT(comparison.warnings,
              testing::Contains(
                  "a has 2 ranks, 3 steps; what all sides have is compared: 2 ranks, 1 step"));
  EXPECT_THAT(ComparisonText(of.sides, comparison, false, false), HasSubstr("2 ranks, 3 steps"));
}

}  // namespace
}  // namespace reprise
