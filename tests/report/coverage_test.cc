// Coverage and what stands before it: docs/coverage.md.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/unknown_work.h"
#include "report/analysis.h"
#include "report/sections/sections.h"
#include "report/text/short_text.h"
#include "report/values/report.h"
#include "tests/report/synthetic_run.h"

namespace reprise {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

// The gemm, 60 % of operations' and transfers' time and of the step, is timed for want of shapes.
RunData RunOfUnknownWork() {
  RunData run = MakeRun();
  for (RankData& rank : run.ranks) {
    rank.nodes[0].mode = ReplayMode::kTimed;
    rank.nodes[0].work_from = WorkSource::kUnknown;
    for (NodeRecord& record : rank.records) {
      record.mode = record.node_id == 1 ? ReplayMode::kTimed : record.mode;
    }
  }
  return run;
}

TEST(Coverage, UnknownWorkComesBeforeTheVerdict) {
  const Report report = Analyze(RunOfUnknownWork());
  EXPECT_DOUBLE_EQ(report.coverage.timed, 0.6);
  EXPECT_DOUBLE_EQ(report.coverage.unknown, 0.6);
  EXPECT_DOUBLE_EQ(report.unknown_work, 0.6);
  const std::string text = ShortText(report, false);
  EXPECT_THAT(text, StartsWith("! 60.0 % of the recorded time is only timed, not run: "));
  const std::string before = text.substr(0, text.find("Replay "));
  EXPECT_LE(std::count(before.begin(), before.end(), '\n'), 2);
  EXPECT_THAT(before, HasSubstr("record_shapes=True"));
  EXPECT_THAT(before, HasSubstr("cannot compare machines"));
  EXPECT_THAT(FullText(report, false), StartsWith("! 60.0 %"));
  const auto json = nlohmann::json::parse(JsonText(report));
  EXPECT_THAT(json.at("verdict").at("caution").get<std::string>(), StartsWith("60.0 %"));
}

TEST(Coverage, TheAdviceIsAboutShapesOnlyWhereThereAreNone) {
  RunData run = RunOfUnknownWork();
  run.ranks[1].nodes[1].work_from = WorkSource::kArguments;
  EXPECT_THAT(Analyze(run).verdict.caution, Not(HasSubstr("record_shapes")));
}

TEST(Coverage, WorkOutsideTheStepsMakesNoStep) {
  RunData run = MakeRun();
  const std::int64_t steps = Analyze(run).ranks[0].recorded_steps;
  NodeInfo outside = run.ranks[0].nodes[0];
  outside.node_id = 1000;
  outside.step = -1;
  run.ranks[0].nodes.push_back(outside);
  EXPECT_EQ(Analyze(run).ranks[0].recorded_steps, steps);
}

TEST(Coverage, ATenthAndWhatWasAskedForAreNoReason) {
  RunData run = RunOfUnknownWork();
  for (RankData& rank : run.ranks) {
    rank.nodes[0].work_from = WorkSource::kNone;  // --ops gemm=timed
  }
  EXPECT_THAT(Analyze(run).verdict.caution, IsEmpty());
  EXPECT_THAT(UnknownWorkText({.share = 0.1}), IsEmpty());
  EXPECT_THAT(UnknownWorkText({.share = 0.11}), Not(IsEmpty()));
}

TEST(Coverage, TheCappedShareStandsBesideTheSurrogates) {
  RunData run = MakeRun();
  run.ranks[0].nodes[1].capped = true;
  for (RankData& rank : run.ranks) {
    rank.nodes.pop_back();  // the all_gather beside the surrogate
  }
  const Report report = Analyze(run);
  EXPECT_DOUBLE_EQ(report.coverage.surrogate, 0.2);
  EXPECT_DOUBLE_EQ(report.coverage.capped, 0.1);
  EXPECT_THAT(ShortText(report, false),
              HasSubstr("real 60.0 % of the recorded step, surrogate 20.0 % (capped 10.0 %), "));
}

RunData RunWithoutTimes() {
  RunData run = MakeRun();
  for (RankData& rank : run.ranks) {
    rank.facts.recorded_step_ns = 0;
    for (NodeInfo& node : rank.nodes) {
      node.recorded_duration_ns = 0;
    }
    rank.nodes[0].flops = 9'000;
    rank.nodes[0].bytes = 1'000;
    rank.nodes[1].flops = 1'000;
    rank.nodes[1].bytes = 3'000;
    rank.nodes[4].bytes = 4'000;
  }
  return run;
}

TEST(Coverage, CompiledCodeIsTimedAndSaid) {
  RunData run = MakeRun();
  for (RankData& rank : run.ranks) {
    rank.nodes[0].op_class = OpClass::kCompiled;
    rank.nodes[0].mode = ReplayMode::kTimed;
    for (NodeRecord& record : rank.records) {
      record.mode = record.node_id == 1 ? ReplayMode::kTimed : record.mode;
    }
  }
  const Report report = Analyze(run);
  EXPECT_DOUBLE_EQ(report.coverage.compiled, 0.6);
  EXPECT_DOUBLE_EQ(report.coverage.real, 0.2);
  EXPECT_THAT(report.verdict.caution, IsEmpty());
  const std::string text = ShortText(report, false);
  EXPECT_THAT(
      text,
      HasSubstr("real 20.0 % of the recorded step, timed 60.0 % (compiled code 60.0 %), pauses "
                "20.0 %"));
  EXPECT_THAT(text, HasSubstr("! 60.0 % of the step is compiled code"));
}

TEST(Coverage, WithoutTimesItIsOfFlopsAndBytesAndSaysSo) {
  const Report report = Analyze(RunWithoutTimes());
  EXPECT_EQ(report.coverage_basis, CoverageBasis::kFlops);
  EXPECT_DOUBLE_EQ(report.coverage.real, 0.9);
  EXPECT_DOUBLE_EQ(report.coverage_of_bytes.real, 0.625);
  EXPECT_DOUBLE_EQ(report.ranks[0].coverage.surrogate, 0.1);
  const std::string text = ShortText(report, false);
  EXPECT_THAT(text,
              HasSubstr("real 90.0 % of the FLOPs, surrogate 10.0 %; real 62.5 % of the bytes"));
  EXPECT_THAT(text, HasSubstr("no times are"));
  EXPECT_EQ(nlohmann::json::parse(JsonText(report)).at("coverage_basis"), "flops");
}

TEST(Coverage, WithoutTimesUnknownWorkIsAShareOfTheNodes) {
  RunData run = RunWithoutTimes();
  for (RankData& rank : run.ranks) {
    rank.nodes[0].flops = rank.nodes[0].bytes = 0;
    rank.nodes[0].mode = ReplayMode::kTimed;
    rank.nodes[0].work_from = WorkSource::kUnknown;
    for (NodeRecord& record : rank.records) {
      record.mode = record.node_id == 1 ? ReplayMode::kTimed : record.mode;
    }
  }
  const Report report = Analyze(run);
  EXPECT_DOUBLE_EQ(report.coverage.surrogate, 1);  // of the FLOPs that are known
  EXPECT_DOUBLE_EQ(report.unknown_work, 1.0 / 3);
  EXPECT_THAT(report.verdict.caution, StartsWith("33.3 % of the nodes are only timed"));
}

}  // namespace
}  // namespace reprise
