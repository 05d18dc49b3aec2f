#include "report/page/html.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "report/analysis.h"
#include "tests/report/synthetic_run.h"

namespace reprise {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

nlohmann::json DataOf(const RunData& run, const HtmlLimits& limits = {}) {
  const Analysis analysis = AnalyzeRun(MeasuredRun(run), {.page = true, .limits = limits});
  return nlohmann::json::parse(HtmlDataJson(analysis.report, *analysis.page, limits));
}

std::string PageOf(const RunData& run) {
  const Analysis analysis = AnalyzeRun(MeasuredRun(run), {.page = true});
  return HtmlText(analysis.report, *analysis.page);
}

// A gauge of watts on rank 0: `count` readings over all iterations, value = its number.
void AddPower(int count, RunData& run) {
  run.ranks[0].metrics = {
      {.id = 7, .name = "power", .unit = "watts", .device = "d", .source = "s"}};
  const std::int64_t begin_ns = kIterationNs;
  for (int i = 0; i < count; ++i) {
    run.ranks[0].samples.push_back(
        {.metric = 7, .time_ns = begin_ns + i * 4 * kIterationNs / count, .value = 1.0 * i});
  }
}

TEST(EscapeForScript, LeavesNoWayOutOfTheElement) {
  const std::string hostile = "\"</script><!--<script>&\xE2\x80\xA8\xE2\x80\xA9\xE2\x80\xAA\"";
  const std::string escaped = EscapeForScript(hostile);
  EXPECT_EQ(escaped,
            "\"\\u003c/script\\u003e\\u003c!--\\u003cscript\\u003e\\u0026\\u2028\\u2029"
            "\xE2\x80\xAA\"");
  EXPECT_EQ(nlohmann::json::parse(escaped), nlohmann::json::parse(hostile));
}

TEST(HtmlText, HostileNamesStayText) {
  RunData run = MakeRun();
  const std::string hostile =
      "</script><script>alert(1)</script><img src=x onerror=alert(1)>{{scripts}}";
  run.manifest.trace_name = hostile;
  for (RankData& rank : run.ranks) {
    rank.host = hostile;
    rank.nodes[0].name = hostile;
    rank.collectives[0].spec.group = hostile;
  }
  run.notes = {hostile + "\xFF"};
  const std::string page = PageOf(run);
  EXPECT_THAT(page, Not(HasSubstr("</script><script>alert")));
  EXPECT_THAT(page, Not(HasSubstr("<img")));
  EXPECT_THAT(page, HasSubstr("\\u003c/script\\u003e\\u003cscript\\u003ealert(1)"));
}

void ExpectNothingIsLoaded(const std::string& page) {
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
  for (const char* loads : {"<link", "src=\"", "@import", "url(http", "{{"}) {
    EXPECT_EQ(page.find(loads), std::string::npos) << loads;
  }
}

TEST(HtmlText, LoadsNothing) { ExpectNothingIsLoaded(PageOf(MakeRun())); }

TEST(HtmlPage, AComparisonHasItsOwnScripts) {
  const std::string page = HtmlPage(R"({"sides": ["</script>"]})", PageKind::kComparison);
  ExpectNothingIsLoaded(page);
  EXPECT_THAT(page, HasSubstr("<title>Reprise comparison</title>"));
  EXPECT_THAT(page, HasSubstr(R"({"sides": ["\u003c/script\u003e"]})"));
  EXPECT_THAT(page, HasSubstr("COMPARE_SECTIONS"));
  EXPECT_THAT(page, Not(HasSubstr("TIME_SECTIONS")));
}

TEST(HtmlData, TimesByRankIterationAndClass) {
  const auto steps = DataOf(MakeRun())["steps"];
  EXPECT_EQ(steps["classes"], nlohmann::json({"gemm", "elementwise", "comm"}));
  // Rank 0, step 0, iteration 1: a step of 1,500 ns; the transfer counts from the last arrival on.
  EXPECT_EQ(steps["replayed"][0], nlohmann::json::parse("[0,0,1,1500,[1900,400,110]]"));
  EXPECT_EQ(steps["recorded"][1], nlohmann::json::parse("[1,0,-1,1000,[600,200,200]]"));
  EXPECT_THAT(steps["replayed"], SizeIs(6));
}

TEST(HtmlData, WhoWaitedForWhom) {
  const RunData run = MakeRun();
  const MeasuredRun measured(run);
  StragglerSums stragglers(measured.ranks);
  stragglers.Add(measured);
  const auto rows = stragglers.Finish();
  ASSERT_THAT(rows, SizeIs(2));
  EXPECT_EQ(rows[0].replayed_waited_ns, 50);
  EXPECT_EQ(rows[0].last, 0);
  EXPECT_EQ(rows[1].replayed_waited_ns, 0);
  EXPECT_EQ(rows[1].last, 3);
  EXPECT_EQ(rows[1].caused_ns, 50);
}

TEST(HtmlData, SeriesAreReducedToTheirRange) {
  RunData run = MakeRun();
  AddPower(10'000, run);
  const auto series = DataOf(run, {.bins = 100})["telemetry"][0]["series"][0];
  EXPECT_EQ(series["binned"], true);
  EXPECT_THAT(series["times_us"], SizeIs(100));
  EXPECT_EQ(series["low"][0], 0);
  EXPECT_EQ(series["high"][99], 9'999);
  const auto whole = DataOf(run, {.bins = 5'000})["telemetry"][0]["series"][0];
  EXPECT_EQ(whole["binned"], false);
  EXPECT_THAT(whole["low"], SizeIs(10'000));
}

TEST(HtmlData, OperationsInBinsKeepTheirTime) {
  RunData run = MakeRun();
  AddPower(100, run);
  const auto host = DataOf(run, {.bins = 50})["telemetry"][0];
  double busy_ns = 0;
  for (const auto& of_class : host["running"]) {
    for (const double mean : of_class) {
      busy_ns += mean * host["bin_ns"].get<double>();
    }
  }
  // Both ranks, three iterations and the warm-up: gemm, elementwise, transfer from its last
  // arrival.
  EXPECT_NEAR(busy_ns, 2 * (99'999 + 1'900 + 1'100 + 1'200 + 4 * 400 + 4 * 110) + 50, 150);
}

TEST(HtmlData, LongListsAreCutAndCounted) {
  RunData run = MakeRun();
  for (int r = 2; r < 40; ++r) {
    run.ranks.push_back(MakeRank(r));
  }
  run.notes.assign(30, "note");
  AddPower(100, run);
  const auto data = DataOf(run, {.rows = 5, .ranks = 8, .cells = 400, .series = 0, .bins = 10});
  EXPECT_THAT(data["report"]["ranks"], SizeIs(8));
  EXPECT_EQ(data["left_out"]["ranks"], 32);
  EXPECT_THAT(data["report"]["notes"], SizeIs(5));
  EXPECT_GE(data["left_out"]["notes"], 25);
  EXPECT_EQ(data["left_out"]["telemetry.series"], 1);
  // Four cells a rank and iteration: two of three iterations fit.
  EXPECT_EQ(data["left_out"]["iterations"], 1);
  EXPECT_THAT(data["steps"]["replayed"], SizeIs(80));
  EXPECT_THAT(DataOf(MakeRun())["left_out"], SizeIs(0));
}

TEST(HtmlData, ARunOfNothingHasItsNotes) {
  RunData run;
  run.manifest.world_size = 4;
  run.notes = {"rank 0: file missing"};
  const auto data = DataOf(run);
  EXPECT_THAT(data["report"]["notes"][0].get<std::string>(), HasSubstr("missing"));
  EXPECT_THAT(data["steps"]["replayed"], SizeIs(0));
}

}  // namespace
}  // namespace reprise
