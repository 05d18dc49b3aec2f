// The sentence that a report begins with, and what stands below it.
#include "report/text/verdict.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "core/kernel_origin.h"
#include "report/analysis.h"
#include "report/sections/section.h"
#include "report/sections/sections.h"
#include "report/text/short_text.h"
#include "report/values/report.h"
#include "tests/report/synthetic_run.h"

namespace reprise {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Optional;
using ::testing::StartsWith;

constexpr char kRecorder[] = "AMD EPYC 7742 64-Core Processor";

template <typename T>
void SetFacts(RunData& run, T RankFacts::*fact, const std::type_identity_t<T>& value) {
  for (RankData& rank : run.ranks) {
    rank.facts.*fact = value;
  }
}

// Recorded and replayed on one processor with one thread a rank.
RunData MakeRunOnOneMachine() {
  RunData run = MakeRun();
  run.manifest.iterations = 3;
  for (RankData& rank : run.ranks) {
    rank.nodes[1].mode = ReplayMode::kReal;
    for (NodeRecord& record : rank.records) {
      record.mode = ReplayMode::kReal;
    }
  }
  SetFacts(run, &RankFacts::recorded_processor, kRecorder);
  SetFacts(run, &RankFacts::recorded_threads, 1);
  SetFacts(run, &RankFacts::processor, kRecorder);
  SetFacts(run, &RankFacts::computes_on, "cpu");
  SetFacts(run, &RankFacts::compute_threads, 1);
  SetFacts(run, &RankFacts::cores, {0, 1});
  return run;
}

Verdict VerdictOf(const RunData& run, bool same_machine = false) {
  return AnalyzeRun(MeasuredRun(run), {.same_machine = same_machine}).report.verdict;
}

std::size_t CountLines(const std::string& text) {
  std::size_t lines = 0;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line); ++lines) {
    EXPECT_LE(line.size(), 100U) << line;
  }
  return lines;
}

TEST(Verdict, OnTheSameMachineItIsAnErrorAndNamesTheOperation) {
  const Verdict verdict = VerdictOf(MakeRunOnOneMachine());
  EXPECT_EQ(verdict.kind, Verdict::Kind::kError);
  EXPECT_THAT(verdict.ratio, Optional(2.0));  // 1,600 ns beside 800 ns untraced
  EXPECT_EQ(verdict.mostly, "op1");           // 1,200 ns beside 600 ns on each rank
  EXPECT_EQ(verdict.mostly_ns, 600);
  EXPECT_EQ(verdict.text,
            "Replay 1.60 us; your job 800 ns untraced: +100 %. Mostly op1 (+600 ns on each rank, "
            "2.0 times as long).");
  EXPECT_THAT(verdict.warnings, IsEmpty());
}

TEST(Verdict, OnAnotherMachineThereIsNoError) {
  RunData run = MakeRunOnOneMachine();
  SetFacts(run, &RankFacts::processor, "Intel(R) Xeon(R) Processor");
  const Verdict verdict = VerdictOf(run);
  EXPECT_EQ(verdict.kind, Verdict::Kind::kSpeed);
  EXPECT_FALSE(IsError(verdict));
  EXPECT_THAT(verdict.text, StartsWith("Replay 1.60 us; your job 800 ns untraced, recorded on AMD "
                                       "EPYC 7742 64-Core Processor: 2.0 times as long."));
  EXPECT_THAT(verdict.text,
              HasSubstr("This machine runs the recorded operations 2.0 times as long."));
  const std::string text = ShortText(Analyze(run), false) + FullText(Analyze(run), false);
  EXPECT_THAT(text, Not(HasSubstr("rror")));
  EXPECT_THAT(text, HasSubstr("ratio"));
  EXPECT_EQ(VerdictOf(run, /*same_machine=*/true).kind, Verdict::Kind::kError);
}

TEST(Verdict, OwnKernelsAreNeitherTheMachinesSpeedNorTheOriginals) {
  RunData run = MakeRunOnOneMachine();
  run.manifest.versions["device_kernels"] = std::string(kOwnKernelsPrefix) + "; by a test";
  const std::string sentence =
      "Operations ran as Reprise's own kernels, 2.0 times as long as recorded: not the original's "
      "times.";
  EXPECT_THAT(VerdictOf(run).text, HasSubstr(sentence));
  SetFacts(run, &RankFacts::processor, "Intel(R) Xeon(R) Processor");
  EXPECT_THAT(VerdictOf(run).text, HasSubstr(sentence));
  EXPECT_THAT(VerdictOf(run).text, Not(HasSubstr("This machine")));
}

TEST(Verdict, AnUnknownRecorderAndOtherThreadsAreNotTheSameMachine) {
  EXPECT_THAT(VerdictOf(MakeRun()).text, HasSubstr("recorded on an unknown machine"));
  RunData run = MakeRunOnOneMachine();
  SetFacts(run, &RankFacts::compute_threads, 2);
  EXPECT_THAT(VerdictOf(run).text, HasSubstr("recorded with 1 thread a rank, here 2"));
  SetFacts(run, &RankFacts::recorded_device, "NVIDIA H200");
  EXPECT_THAT(VerdictOf(run).text, HasSubstr("recorded on NVIDIA H200"));
}

TEST(Verdict, AFasterMachineIsSaidToBeFaster) {
  RunData run = MakeRun();
  run.manifest.untraced_step_ns = 4'800;
  for (RankData& rank : run.ranks) {
    rank.nodes[0].recorded_duration_ns = 6'000;
  }
  const Verdict verdict = VerdictOf(run);
  EXPECT_THAT(verdict.text, HasSubstr("3.0 times as fast"));
  EXPECT_THAT(verdict.text, HasSubstr("Mostly op1 (-4.80 us on each rank, 5.0 times as fast)"));
  EXPECT_THAT(verdict.text, HasSubstr("runs the recorded operations 3.9 times as fast"));
}

TEST(Verdict, WithoutAnUntracedStepTheTracedOneCountsAndSaysSo) {
  RunData run = MakeRunOnOneMachine();
  run.manifest.untraced_step_ns = -1;
  const Verdict verdict = VerdictOf(run);
  EXPECT_THAT(verdict.text, StartsWith("Replay 1.60 us; your job 1.00 us with tracing: +60 %."));
  EXPECT_THAT(verdict.warnings, ElementsAre(HasSubstr("tracing took")));
}

TEST(Verdict, WhatTracingTookIsDeductedFromOperations) {
  RunData run = MakeRunOnOneMachine();
  for (RankData& rank : run.ranks) {
    rank.nodes[0].recorded_tracing_ns = 300;
  }
  EXPECT_THAT(VerdictOf(run).text, HasSubstr("op1 (+900 ns on each rank, 4.0 times as long)"));
  run.manifest.untraced_step_ns = -1;
  EXPECT_THAT(VerdictOf(run).text, HasSubstr("op1 (+600 ns on each rank, 2.0 times as long)"));
}

TEST(Verdict, ASimulatedRunIsComparedWithTheTracedStep) {
  RunData run = MakeRunOnOneMachine();
  run.manifest.options["mode"] = kSimulateMode;
  const Verdict verdict = VerdictOf(run);
  EXPECT_EQ(verdict.kind, Verdict::Kind::kSimulated);
  EXPECT_THAT(verdict.text, StartsWith("Simulated 1.60 us; your job 1.00 us with tracing: +60 %."));
}

TEST(Verdict, ASimulationWithoutTracingIsComparedWithTheUntracedStep) {
  RunData run = MakeRunOnOneMachine();
  run.manifest.options = {
      {"mode", "simulate"}, {"machine", "recorded"}, {"host_gap_factor", "untraced"}};
  EXPECT_THAT(VerdictOf(run).job_ns, Optional(800));
  run.manifest.options["host_gap_factor"] = "1";
  EXPECT_THAT(VerdictOf(run).job_ns, Optional(1'000));
}

TEST(Verdict, ASetSaysWhereItsTimeWent) {
  RunData run = MakeRunOnOneMachine();
  run.manifest.options["mode"] = kRecordedMode;
  const Report report = AnalyzeRun(MeasuredRun(run), {}).report;
  EXPECT_EQ(report.verdict.kind, Verdict::Kind::kRecorded);
  EXPECT_FALSE(report.verdict.ratio.has_value());
  EXPECT_FALSE(report.fidelity.step_error.has_value());
  EXPECT_THAT(report.verdict.text, StartsWith("Recorded 1.60 us"));
  EXPECT_THAT(report.verdict.text, ContainsRegex("Of a step on a rank, the mean: gemm [0-9]+ %"));
  EXPECT_THAT(report.verdict.warnings, IsEmpty());
  const std::string text = FullText(report, false) + ShortText(report, false);
  for (const char* word : {"replayed", "real", "error", "difference"}) {
    EXPECT_THAT(text, Not(HasSubstr(word))) << word;
  }
}

TEST(Verdict, PausesAreACauseLikeAnyOther) {
  RunData run = MakeRunOnOneMachine();
  for (RankData& rank : run.ranks) {
    for (NodeRecord& record : rank.records) {
      record.duration_ns = record.node_id == 5 ? record.duration_ns : 10;
    }
    rank.nodes[0].recorded_duration_ns = 300;
  }
  const Verdict verdict = VerdictOf(run);
  EXPECT_EQ(verdict.mostly, "pauses and waits between operations");
  // Of a step of 1,600 ns, 10 + 10 + 110 are in nodes; of 800 recorded, 700.
  EXPECT_EQ(verdict.mostly_ns, 1'470 - 100);
}

TEST(Verdict, NothingMeasuredAndNothingRecorded) {
  RunData run = MakeRun();
  run.manifest.recorded_step_ns = 0;
  run.manifest.untraced_step_ns = -1;
  SetFacts(run, &RankFacts::recorded_step_ns, 0);
  EXPECT_THAT(VerdictOf(run).text, HasSubstr("how long the job's step took is unknown"));
  for (RankData& rank : run.ranks) {
    rank.steps.clear();
  }
  EXPECT_THAT(VerdictOf(run).text, HasSubstr("nothing is measured"));
}

TEST(Verdict, APredictionOfAJobSaysWhatAReaderAsked) {
  RunData run = MakeRunOnOneMachine();
  run.manifest.recorded_step_ns = 0;
  run.manifest.untraced_step_ns = -1;
  run.manifest.options = {
      {"mode", "simulate"}, {"machine", "h100-hgx"},         {"tokens", "16"},
      {"mfu", "0.5452"},    {"memory_bytes", "85899345920"}, {"memory_peak_bytes", "80294372475"}};
  for (RankData& rank : run.ranks) {
    rank.facts.recorded_step_ns.reset();
  }
  EXPECT_EQ(VerdictOf(run).text,
            "Simulated on h100-hgx: 1.60 us, 10000000 tokens/s, MFU 54.5 %; memory fits, 5.22 GiB "
            "left.");
  run.manifest.options["memory_peak_bytes"] = "96636764160";
  EXPECT_THAT(VerdictOf(run).text, HasSubstr("memory does not fit, 10.00 GiB too much."));
}

TEST(Verdict, OversubscribedNamesThreadsCoresAndWhatToChange) {
  RunData run = MakeRunOnOneMachine();
  run.manifest.oversubscribed = true;
  SetFacts(run, &RankFacts::compute_threads, 2);
  const Verdict fewer_threads = VerdictOf(run);
  EXPECT_EQ(fewer_threads.text.find("Replay 1.60 us"), 0U);  // the number stays
  EXPECT_THAT(fewer_threads.warnings,
              Contains("Oversubscribed: the 2 ranks on host h compute with 4 threads on 2 cores. "
                       "Set OMP_NUM_THREADS=1."));
  SetFacts(run, &RankFacts::cores, {0});
  EXPECT_THAT(VerdictOf(run).warnings,
              Contains(HasSubstr("on 1 core. Use 2 cores a host or more, or fewer ranks")));
}

TEST(Verdict, RecordedStepsThatDifferWidelyAreWarnedAbout) {
  RunData run = MakeRunOnOneMachine();
  SetFacts(run, &RankFacts::recorded_steps_ns, {454'000'000, 600'000'000, 700'000'000});
  run.ranks[1].facts.recorded_steps_ns = {450'000'000, 500'000'000, 762'000'000};
  EXPECT_THAT(VerdictOf(run).warnings,
              ElementsAre(HasSubstr("The 3 recorded steps took 454 ms to 762 ms")));
  SetFacts(run, &RankFacts::recorded_steps_ns, {454'000'000, 460'000'000});
  EXPECT_THAT(VerdictOf(run).warnings, IsEmpty());
}

TEST(Verdict, ReplayedIterationsThatDifferWidelyAreWarnedAbout) {
  RunData run = MakeRunOnOneMachine();
  run.ranks[0].steps[3].duration_ns = 5'000;
  EXPECT_THAT(VerdictOf(run).warnings,
              Contains(HasSubstr("The replay's 3 iterations took 1.50 us to 5.00 us")));
}

// Operations take 2,000 ns less and everything else 2,800 ns more: +100 % hides both.
TEST(Verdict, LargeDifferencesThatCancelAreNamed) {
  RunData run = MakeRunOnOneMachine();
  EXPECT_THAT(VerdictOf(run).text, Not(HasSubstr("cancel")));
  for (RankData& rank : run.ranks) {
    for (NodeRecord& record : rank.records) {
      record.duration_ns = 1;
    }
  }
  EXPECT_THAT(VerdictOf(run).text,
              ContainsRegex("Differences cancel: operations and transfers -.* ns, pauses and waits "
                            "\\+.* us on each rank\\."));
}

// One that is larger than what is left of it says it all.
TEST(Verdict, ADifferenceThatOneTermMakesUpIsNotSaidToCancel) {
  RunData run = MakeRunOnOneMachine();
  for (RankData& rank : run.ranks) {
    rank.nodes.pop_back();  // the transfer beside an operation
    rank.collectives.clear();
    for (NodeRecord& record : rank.records) {
      record.duration_ns = record.node_id == 1 ? 300 : 100;
    }
  }
  EXPECT_THAT(VerdictOf(run).text,
              AllOf(HasSubstr("Mostly pauses and waits"), HasSubstr("Repeat on an idle machine"),
                    Not(HasSubstr("cancel"))));
}

// Many operations, each a little slower.
TEST(Verdict, WhereNoOperationStandsOutTheirClassIsNamed) {
  RunData run = MakeRunOnOneMachine();
  for (RankData& rank : run.ranks) {
    const NodeInfo gemm = rank.nodes[0];
    for (NodeRecord& record : rank.records) {
      record.duration_ns = record.node_id == 2 ? 200 : record.duration_ns;
    }
    for (std::uint64_t i = 0; i < 10; ++i) {
      NodeInfo& part = i == 0 ? rank.nodes[0] : rank.nodes.emplace_back(gemm);
      part.node_id = 100 + i;
      part.name = fmt::format("gemm{}", i);
      part.recorded_start_ns = static_cast<std::int64_t>(60 * i);
      part.recorded_duration_ns = 60;
      for (int iteration = 0; iteration < 4; ++iteration) {
        rank.records.push_back(MakeRecord(100 + i, iteration, ReplayMode::kReal, 0, 130));
      }
    }
  }
  const Verdict verdict = VerdictOf(run);
  EXPECT_EQ(verdict.mostly, "operations of class gemm");
  EXPECT_EQ(verdict.mostly_ns, 700);
}

TEST(Verdict, ACaptureOnABusyMachineIsNamedWithBothNumbers) {
  RunData run = MakeRunOnOneMachine();
  run.manifest.untraced_step_ns = 700;  // gemm and all_gather took 800
  EXPECT_THAT(VerdictOf(run).warnings,
              Contains(AllOf(HasSubstr("Captured while the machine was busy"), HasSubstr("800 ns"),
                             HasSubstr("700 ns"), HasSubstr("Capture again"))));
}

TEST(Short, SaysWhoseKernelsRan) {
  RunData run = MakeRunOnOneMachine();
  EXPECT_THAT(ShortText(Analyze(run), false), Not(HasSubstr("Kernels  ")));
  run.manifest.versions["device_kernels"] = "by a test";
  EXPECT_THAT(ShortText(Analyze(run), false), HasSubstr("Kernels         by a test\n"));
}

TEST(Verdict, JsonHasTheSameText) {
  const Report report = Analyze(MakeRunOnOneMachine());
  const auto json = nlohmann::json::parse(JsonText(report));
  EXPECT_EQ(json.at("verdict").at("text"), report.verdict.text);
  EXPECT_EQ(json.at("verdict").at("kind"), "error");
  EXPECT_EQ(json.at("verdict").at("ratio"), 2.0);
}

TEST(Short, BeginsWithTheVerdictAndKeepsToFortyLines) {
  const Report report = Analyze(MakeRunOnOneMachine());
  const std::string text = ShortText(report, false);
  EXPECT_THAT(text, StartsWith("Replay 1.60 us; your job 800 ns untraced: +100 %."));
  EXPECT_THAT(
      text, HasSubstr("Coverage        real 80.0 % of the recorded step, pauses 20.0 % (waiting"));
  EXPECT_THAT(text, HasSubstr("Ranks           2 on 1 host: slowest rank"));
  EXPECT_LE(CountLines(text), 40U);
}

TEST(Short, DifferencesEndAtTheVerdicts) {
  const std::string text = ShortText(Analyze(MakeRunOnOneMachine()), false);
  EXPECT_THAT(text, ContainsRegex("gemm +600 ns +1.20 us +\\+600 ns +\\+100.0 %"));
  EXPECT_THAT(text, ContainsRegex("step +800 ns +1.60 us +\\+800 ns +\\+100.0 %"));
}

// Classes that run at the same time add up to more than the step: that is overlap, and no pause.
TEST(Short, OverlapHasALineOfItsOwn) {
  RunData run = MakeRunOnOneMachine();  // a transfer beside operations, recorded and replayed
  EXPECT_THAT(ShortText(Analyze(run), false), ContainsRegex("overlap \\* +-200 ns +-110 ns"));
  for (RankData& rank : run.ranks) {
    for (NodeRecord& record : rank.records) {
      record.duration_ns = 1;
    }
  }
  const std::string text = ShortText(Analyze(run), false);
  EXPECT_THAT(text, ContainsRegex("pauses, waits +0 ns +1\\.[0-9]+ us "));
  EXPECT_THAT(text, ContainsRegex("overlap \\* +-200 ns +0 ns "));
}

// On one thread nothing runs beside anything.
TEST(Short, MoreRecordedTimeThanTheStepHasIsNoOverlapOnOneThread) {
  RunData run = MakeRunOnOneMachine();
  run.manifest.untraced_step_ns = 700;
  for (RankData& rank : run.ranks) {
    rank.nodes.pop_back();  // the transfer: 800 ns of operations are left
    rank.collectives.clear();
  }
  const std::string text = ShortText(Analyze(run), false);
  EXPECT_THAT(text, ContainsRegex("slowed down \\* +-100 ns +0 ns "));
  EXPECT_THAT(text, Not(HasSubstr("overlap")));
}

// Two operations of one class whose long iterations differ: each iteration takes 1,000 ns, the sum
// of their medians is 600.
TEST(Classes, AreTheMedianOfIterationsNotTheSumOfMedians) {
  RunData run = MakeRunOnOneMachine();
  for (RankData& rank : run.ranks) {
    rank.nodes[1].op_class = OpClass::kGemm;
    rank.nodes[0].name = rank.nodes[1].name = "aten::mm";
    for (NodeRecord& record : rank.records) {
      const bool is_long = (record.node_id == 1) == (record.iteration == 1);
      record.duration_ns = record.iteration == 3 ? 500 : is_long ? 900 : 100;
    }
  }
  const Report report = Analyze(run);
  ASSERT_EQ(report.classes[0].name, "gemm");
  EXPECT_EQ(report.classes[0].replayed_ns, 2'000);  // of two ranks
  ASSERT_EQ(report.shapes.size(), 1U);
  EXPECT_EQ(report.shapes[0].replayed_ns, 2'000);
}

TEST(Short, ALargeRunKeepsToFortyLinesToo) {
  RunData run = MakeRun();
  run.manifest.oversubscribed = true;
  run.manifest.iterations = 9;
  run.manifest.complete = false;
  run.manifest.untraced_step_ns = -1;
  run.manifest.hosts.clear();
  run.ranks.clear();
  for (int r = 0; r < 64; ++r) {
    RankData& rank = run.ranks.emplace_back(MakeRank(r));
    for (int c = 0; c < static_cast<int>(OpClass::kComm); ++c) {
      rank.nodes.push_back(MakeNode(100 + static_cast<std::uint64_t>(c), static_cast<OpClass>(c),
                                    OpKind::kWork, "thread 1", 1'000 + c, 10));
      rank.nodes.back().name = std::string(120, 'n');
    }
    rank.facts.recorded_steps_ns = {1, 2};
    for (int s = 0; s < 20; ++s) {
      rank.facts.missing_telemetry.emplace_back(
          "source" + std::to_string(s),
          "a reason that takes some words, which " + std::string(60, 'w'));
    }
    rank.host = std::string(80, 'h') + std::to_string(r);
  }
  const Report report = Analyze(run);
  EXPECT_LE(CountLines(ShortText(report, false)), 40U);
  EXPECT_THAT(ShortText(report, false), HasSubstr("64 on 64 hosts"));
  CountLines(FullText(report, false));
}

TEST(Short, AMonitoredRunHasNoReplayInIt) {
  RunData run = MakeRun();
  run.manifest.options = {{"mode", kMonitorMode}, {"monitored", "python train.py"}};
  const std::string text = ShortText(Analyze(run), false);
  EXPECT_THAT(text, StartsWith("python train.py ran for 1.60 us on 2 ranks."));
  EXPECT_THAT(text, Not(HasSubstr("Coverage")));
  EXPECT_THAT(text, Not(HasSubstr("Replay")));
  EXPECT_LE(CountLines(text), 40U);
}

TEST(Sections, EachIsPartOfTheFullReport) {
  const Report report = Analyze(MakeRunOnOneMachine());
  const std::string full = FullText(report, false);
  for (const std::string& name : SectionNames()) {
    const auto text = SectionText(report, name, false);
    ASSERT_TRUE(text) << name;
    if (text->find("nothing for it") == std::string::npos) {
      EXPECT_THAT(full, HasSubstr(*text)) << name;
    }
  }
  const auto none = SectionText(report, "nonsense", false);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, ErrorKind::kUsage);
  EXPECT_THAT(none.error().message, HasSubstr("shapes"));
}

TEST(Sections, EachHasATextAndMembersOfItsOwnInTheJson) {
  std::set<std::string_view> names;
  std::set<std::string> members;
  std::size_t sum = 0;
  for (const Section& section : Sections()) {
    EXPECT_TRUE(names.insert(section.name).second) << section.name << " is registered twice";
    ASSERT_NE(section.console, nullptr) << section.name;
    ASSERT_NE(section.json, nullptr) << section.name;
    nlohmann::ordered_json json;
    section.json(Report(), json);
    EXPECT_FALSE(json.empty()) << section.name << " adds nothing to the JSON";
    const nlohmann::ordered_json& added =
        json.contains("fidelity") && json.size() == 1 ? json["fidelity"] : json;
    for (const auto& [key, value] : added.items()) {
      members.insert(key);
      sum += 1;
    }
  }
  // The energy keeps a place for the telemetry's "metrics".
  EXPECT_EQ(members.size() + 1, sum) << "two sections write one member";
}

TEST(Sections, EnergyIsScaled) {
  Report report;
  report.energy_joules = 107'728'169;
  report.measured_ns = 1'000'000'000;
  EXPECT_THAT(ShortText(report, false), HasSubstr("Energy          108 MJ over 1.00 s"));
}

TEST(Sections, ShapesTellCallsOfOneOperationApart) {
  RunData run = MakeRun();
  for (RankData& rank : run.ranks) {
    rank.nodes[0].name = rank.nodes[1].name = "aten::mm";
    rank.nodes[0].shape = "[8,64] [64,64]";
    rank.nodes[1].shape = "[2,2] [2,2]";
  }
  const Report report = Analyze(run);
  ASSERT_EQ(report.shapes.size(), 2U);
  EXPECT_EQ(report.shapes[0].shape, "[8,64] [64,64]");
  EXPECT_EQ(report.shapes[0].count, 2);
  EXPECT_EQ(report.shapes[0].recorded_ns, 1'200);
  EXPECT_EQ(report.shapes[0].replayed_ns, 2'400);
  EXPECT_THAT(SectionText(report, "shapes", false).value(), HasSubstr("[2,2] [2,2]"));
}

}  // namespace
}  // namespace reprise
