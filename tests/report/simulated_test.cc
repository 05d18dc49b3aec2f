// Reports of simulated runs: classes of equal ranks count as often as they stand for ranks, times
// have their source, and what was not recorded is not shown.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "report/analysis.h"
#include "report/sections/sections.h"
#include "report/text/short_text.h"
#include "report/text/time_sources.h"
#include "report/timeline/run_timeline.h"
#include "report/values/report.h"
#include "tests/report/synthetic_run.h"

namespace reprise {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Rank 0 alone, and a class that is like rank 1.
RunData MakeFoldedRun(std::int64_t alike) {
  RunData run = MakeRun();
  run.manifest.options = {{"mode", "simulate"}, {"machine", "h100-hgx"}};
  for (RankData& rank : run.ranks) {
    rank.facts.modelled = true;
    rank.facts.class_ranks = rank.rank == 0 ? 1 : alike;
    rank.facts.class_members = rank.rank == 0 ? "0" : "1-" + std::to_string(alike);
  }
  return run;
}

// The same with each rank in a place of its own.
RunData Unfold(const RunData& folded, std::int64_t alike) {
  RunData run = folded;
  run.ranks.resize(1);
  for (std::int32_t rank = 1; rank <= alike; ++rank) {
    run.ranks.push_back(folded.ranks[1]);
    run.ranks.back().rank = rank;
  }
  for (RankData& rank : run.ranks) {
    rank.facts.class_ranks.reset();
    rank.facts.class_members.clear();
  }
  run.manifest.world_size = static_cast<std::int32_t>(run.ranks.size());
  run.manifest.hosts.assign(run.ranks.size(), "h");
  run.manifest.devices.assign(run.ranks.size(), "opencl: cpu");
  return run;
}

TEST(Simulated, SumsOverClassesAreThoseOverTheirRanks) {
  RunData folded = MakeFoldedRun(3);
  for (RankData& rank : folded.ranks) {
    rank.collectives.clear();
    rank.nodes[0].time_from = TimeSource::kScaled;
    rank.nodes[1].time_from = TimeSource::kDefault;
  }
  folded.ranks[1].nodes[0].recorded_duration_ns = 450;
  folded.ranks[1].nodes[1].recorded_tracing_ns = 30;
  const auto of_classes = nlohmann::json::parse(JsonText(Analyze(folded)));
  const auto of_ranks = nlohmann::json::parse(JsonText(Analyze(Unfold(folded, 3))));
  for (const char* key : {"classes", "phases", "shapes", "covered_ns", "host_ns", "wait_ns",
                          "delay_ns", "work_tracing_ns", "time_from_ns", "total_ranks"}) {
    EXPECT_EQ(of_classes.at(key), of_ranks.at(key)) << key;
  }
  EXPECT_NEAR(of_classes.at("coverage").at("real"), of_ranks.at("coverage").at("real"), 1e-12);
  EXPECT_EQ(of_classes.at("total_ranks"), 4);
  EXPECT_EQ(of_classes.at("fidelity").at("work_error"), of_ranks.at("fidelity").at("work_error"));
  EXPECT_EQ(of_classes.at("fidelity").at("offenders"), of_ranks.at("fidelity").at("offenders"));
  EXPECT_EQ(of_classes.at("verdict").at("text"), of_ranks.at("verdict").at("text"));
}

// Four groups of two ranks, of which the run has one member each; and one whole.
TEST(Simulated, TransfersOfClassesCountOnceForEachGroup) {
  RunData run = MakeFoldedRun(6);
  run.ranks[0].facts.class_ranks = 2;
  for (RankData& rank : run.ranks) {
    rank.collectives[0].role = "tp";
    rank.collectives[0].spec.group = std::to_string(1 + rank.rank);
    rank.collectives[0].transfer_ns = rank.rank == 0 ? 90 : 70;
  }
  const Report report = Analyze(run);
  ASSERT_EQ(report.collectives.size(), 1U);
  const CollectiveRow& row = report.collectives[0];
  EXPECT_EQ(row.group, "tp");
  EXPECT_EQ(row.count, 4);  // 8 members in pairs
  EXPECT_EQ(row.replayed_ns, 70);
  EXPECT_EQ(row.replayed_sum_ns, 3 * 70 + 90);
  EXPECT_EQ(row.clock, TransferClock::kShared);
}

TEST(Simulated, TextsNameClassesAndSources) {
  RunData run = MakeFoldedRun(128);
  for (RankData& rank : run.ranks) {
    rank.nodes[0].time_from = TimeSource::kScaled;
    rank.nodes[1].time_from = TimeSource::kWhole;
    rank.nodes[4].time_from = TimeSource::kScaled;
  }
  const Report report = Analyze(run);
  const std::string text = ShortText(report, false);
  EXPECT_THAT(text, HasSubstr("Times from      operations: scaled 78 %, whole 22 %; transfers: "
                              "scaled 100 %\n"));
  EXPECT_THAT(text,
              HasSubstr("129 in 2 classes of equal ones: slowest rank 0 with 1.60 us, fastest "
                        "class 1 (128\n                ranks: 1-128) with"));
  EXPECT_THAT(text, Not(HasSubstr("Coverage")));
  EXPECT_THAT(text, Not(HasSubstr("replayed")));
  EXPECT_THAT(*SectionText(report, "classes", false), HasSubstr("times from"));
  EXPECT_THAT(*SectionText(report, "ranks", false), HasSubstr("1-128"));
}

TEST(Simulated, NothingRecordedIsNotShown) {
  RunData run = MakeFoldedRun(128);
  run.manifest.recorded_step_ns = 0;
  run.manifest.untraced_step_ns = -1;
  for (RankData& rank : run.ranks) {
    rank.facts.recorded_step_ns.reset();
    for (NodeInfo& node : rank.nodes) {
      node.recorded_duration_ns = 0;
    }
  }
  const Report report = Analyze(run);
  EXPECT_THAT(ShortText(report, false), HasSubstr("; no recorded step: no times were\n"));
  for (const std::string& text : {ShortText(report, false), FullText(report, false)}) {
    EXPECT_THAT(text, Not(HasSubstr("  recorded ")));  // a column; the sentence may wrap
    EXPECT_THAT(text, Not(HasSubstr("Recorded")));
    EXPECT_THAT(text, Not(HasSubstr("untraced")));
    EXPECT_THAT(text, Not(HasSubstr("error")));
  }
}

TEST(Simulated, AClassIsOneProcessOfATimeline) {
  RunData run = MakeFoldedRun(128);
  run.ranks[1].nodes[0].time_from = TimeSource::kFitted;
  const Timeline timeline = TimelineOfRun(run, {}).timeline;
  std::vector<std::string> processes;
  for (const Timeline::Track& track : timeline.tracks) {
    if (track.kind == Timeline::TrackKind::kProcess) {
      processes.push_back(track.name);
    }
  }
  EXPECT_THAT(processes, ::testing::ElementsAre("rank 0 (modelled)",
                                                "class 1 (×128: ranks 1-128) (modelled)"));
  EXPECT_TRUE(std::any_of(timeline.slices.begin(), timeline.slices.end(), [](const auto& slice) {
    return std::any_of(slice.annotations.begin(), slice.annotations.end(), [](const auto& of) {
      return of.name == "time_from" && std::get<std::string>(of.value) == "fitted";
    });
  }));
}

TEST(TimeSources, SharesAreOfWhatHasASource) {
  SourceTimes from_ns{};
  EXPECT_EQ(SourcesText(from_ns), "");
  EXPECT_EQ(MainSourceText(from_ns), "-");
  from_ns[static_cast<std::size_t>(TimeSource::kNone)] = 1'000;
  from_ns[static_cast<std::size_t>(TimeSource::kScaled)] = 800;
  from_ns[static_cast<std::size_t>(TimeSource::kDatasheet)] = 199;
  from_ns[static_cast<std::size_t>(TimeSource::kDefault)] = 1;
  EXPECT_EQ(SourcesText(from_ns), "scaled 80 %, datasheet 20 %, default < 1 %");
  EXPECT_EQ(MainSourceText(from_ns), "scaled 80 %");
}

}  // namespace
}  // namespace reprise
