// Numbers of recordings by name, made by hand: conditions, tables and figures take them.
#include "report/recordings/quantities.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "report/compare/condition.h"
#include "report/recordings/show.h"

namespace reprise {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

RecordedOperation Operation(std::string name, OpClass op_class, std::int64_t start_ns,
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
RecordedJob TwoRanks(std::string label, std::int64_t gemm_ns) {
  RecordedJob job{.label = std::move(label), .path = "set", .world_size = 2};
  for (std::int32_t r = 0; r < 2; ++r) {
    RankRecording rank;
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

ComparedRecordings CompareAll(const std::vector<std::vector<RecordedJob>>& sides) {
  ComparedRecordings out;
  std::vector<SideQuantities> quantities;
  const RecordedJob& base = sides[0][0];
  for (const auto& repeats : sides) {
    SideQuantities& of = quantities.emplace_back();
    ComparedSide& side = out.sides.emplace_back(ComparedSide{repeats[0].label, {}});
    for (const RecordedJob& job : repeats) {
      of.repeats.push_back(QuantitiesOf(job, CompareRecordings(base, job), false));
      side.captures.push_back(DescribeCapture(job));
    }
    of.base = quantities.front().repeats;
    out.recordings.push_back(repeats[0]);
    out.ranks.push_back(CompareRanksOf(repeats[0]));
    if (out.sides.size() > 1) {
      out.differences.push_back(CompareRecordings(base, repeats[0]));
    }
  }
  out.comparison = CompareRecordedSides(out.sides, quantities);
  return out;
}

std::vector<std::string> Violations(const ComparedRecordings& of, const std::string& condition) {
  const auto found = FindViolations(*ParseConditions(condition), of.sides, of.comparison);
  return found ? *found : std::vector<std::string>{found.error().message};
}

TEST(RecordedQuantitiesTest, ConditionsTakeThem) {
  const auto of = CompareAll({{TwoRanks("a", 4'000)}, {TwoRanks("b", 8'000)}});
  EXPECT_THAT(Violations(of, "class.gemm>1.9"), ElementsAre("b: class.gemm>1.9 holds, it is 2"));
  EXPECT_THAT(Violations(of, "class.gemm>2.1 || time>1.3"), IsEmpty());
  EXPECT_THAT(Violations(of, "class.elementwise>1"), IsEmpty());
  EXPECT_THAT(Violations(of, "collective.all_reduce>=1"), testing::SizeIs(1));
  // Means of a rank; sums of both.
  EXPECT_THAT(Violations(of, "exposed_comm.value>0.0000019"), testing::SizeIs(2));
  EXPECT_THAT(Violations(of, "exposed_comm.value>0.0000021"), IsEmpty());
  EXPECT_THAT(Violations(of, "class.gemm.value>0.000015"), ElementsAre(HasSubstr("it is 1.6e-05")));
  EXPECT_THAT(Violations(of, "aligned.value<1"), IsEmpty());
  // What cannot be checked does not pass.
  EXPECT_THAT(Violations(of, "time.low>1"), ElementsAre(HasSubstr("can't be checked for b")));
  EXPECT_THAT(Violations(of, "energy>1"), ElementsAre(HasSubstr("these recordings have no")));
}

TEST(RecordedQuantitiesTest, RepeatsHaveIntervals) {
  const auto of = CompareAll({{TwoRanks("a", 4'000), TwoRanks("a", 4'010), TwoRanks("a", 4'020)},
                              {TwoRanks("b", 8'000), TwoRanks("b", 8'010), TwoRanks("b", 8'030)}});
  EXPECT_TRUE(of.comparison.repeats_are_runs);
  EXPECT_THAT(Violations(of, "class.gemm.low>1.95"), testing::SizeIs(1));
  EXPECT_THAT(Violations(of, "class.elementwise.low>1"), IsEmpty());
  const std::string text = RecordingsText(of, false, false);
  EXPECT_THAT(text, HasSubstr("Medians over recordings"));
  EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 40);
  EXPECT_EQ(nlohmann::json::parse(RecordingsJson(of, false))["repeats"], "recordings");
}

TEST(RecordedQuantitiesTest, MarkdownHasTheTablesOfTheConsole) {
  const auto of = CompareAll({{TwoRanks("a|x", 4'000)}, {TwoRanks("b", 8'000)}});
  const std::string text = RecordingsMarkdown(of);
  EXPECT_THAT(text, HasSubstr("## b against a\\|x"));
  EXPECT_THAT(text, HasSubstr("### Time by class"));
  EXPECT_THAT(text, HasSubstr("| gemm | 2 | 8.00 us | 16.0 us | 2.00x | +8.00 us |"));
  const std::string figure = ComparisonJson(of.sides, of.comparison, {"parallelism"});
  const auto json = nlohmann::json::parse(figure);
  EXPECT_EQ(json["sides"][1]["ranks"], 2);
  EXPECT_EQ(json["quantities"][0]["name"], "time");
}

}  // namespace
}  // namespace reprise
