#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/text/odd_values.h"
#include "report/text/verdict.h"
#include "report/values/report.h"

namespace reprise {
namespace {

using testing::HasSubstr;
using testing::Not;

RunData Checked() {
  RunData run;
  run.ranks.resize(2);
  run.ranks[0].facts.values = {{"aten::bmm", {1000, 300, 0, 0}}, {"aten::mm", {5000, 0, 0, 0}}};
  run.ranks[1].facts.values = {{"aten::bmm", {1000, 100, 1, 0}}};
  return run;
}

TEST(Values, OfAllRanksByShare) {
  const auto rows = CollectValues(Checked());
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].name, "aten::bmm");
  EXPECT_EQ(rows[0].counts, (ValueCounts{2000, 400, 1, 0}));
  EXPECT_EQ(rows[1].counts, (ValueCounts{5000, 0, 0, 0}));
}

TEST(Values, AreNamedAsACauseWhereTheyAreOne) {
  Report report;
  report.values = CollectValues(Checked());
  EXPECT_EQ(OddValuesText(report, "aten::bmm"), "aten::bmm: 20 % denormals, 0.05 % infinities");
  EXPECT_EQ(OddValuesText(report, "aten::mm"), "");
  EXPECT_THAT(OddValuesWarning(report), HasSubstr("1 operation computed"));
  // The operation that takes longer is the one with denormals.
  report.manifest.complete = true;
  report.step_time_recorded_ns = 1'000'000;
  report.step_time_replayed_ns = 2'000'000;
  report.ranks.resize(1);
  ShapeRow row{.name = "aten::bmm", .op_class = "gemm"};
  row.recorded_ns = 100'000;
  row.replayed_ns = 900'000;
  report.shapes = {row};
  ClassRow gemm{.name = "gemm"};
  gemm.recorded_ns = 100'000;
  gemm.replayed_ns = 900'000;
  report.classes = {gemm};
  TopDifferenceRow slower;
  slower.name = "aten::bmm";
  slower.cause = "this machine or kernel is slower";
  slower.recorded_ns = 1;
  slower.replayed_ns = 9;
  report.details.top_differences = {slower};
  NameValuesAsCause(report);
  EXPECT_THAT(report.details.top_differences[0].cause, HasSubstr("20 % denormals"));
  EXPECT_THAT(FindVerdict(report, true).text, HasSubstr("Its values are a cause, not the machine"));
  report.values.clear();
  EXPECT_THAT(FindVerdict(report, true).text, Not(HasSubstr("values")));
  EXPECT_EQ(OddValuesWarning(report), "");
}

}  // namespace
}  // namespace reprise
