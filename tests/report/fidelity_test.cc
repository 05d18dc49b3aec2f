// What the difference is made of, on two ranks worked out by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <numeric>

#include "report/analysis.h"
#include "report/fidelity/fidelity_examination.h"
#include "report/sections/sections.h"
#include "report/values/fidelity_values.h"
#include "report/values/report.h"
#include "tests/report/synthetic_run.h"

namespace reprise {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

NodeInfo WithTimes(NodeInfo node, std::int64_t elapsed_ns, std::int64_t delay_ns) {
  node.recorded_elapsed_ns = elapsed_ns;
  node.recorded_delay_ns = delay_ns;
  return node;
}

// Recorded: a gemm of 600 on rank 0, of 500 on rank 1, 10 later an all_reduce that ends at 710 on
// both, 10 later 200 of elementwise; the step ends 80 after that. Replayed: gemm 500 and 450, the
// all_reduce 130 from the last arrival, 5 later 205 and 210 of elementwise, step 900.
RankData MakeTwoSided(int rank) {
  const std::int64_t gemm_ns = rank == 0 ? 600 : 500;
  const std::int64_t replayed_gemm_ns = rank == 0 ? 500 : 450;
  RankData data;
  data.rank = rank;
  data.host = "h";
  data.closed = true;
  data.facts = {.trace_base_ns = 5000, .recorded_step_ns = 1000, .first_step_ns = 0};
  data.nodes = {
      WithTimes(MakeNode(1, OpClass::kGemm, OpKind::kWork, "thread 1", 0, gemm_ns), gemm_ns, 0),
      WithTimes(MakeNode(2, OpClass::kComm, OpKind::kComm, "group tp", gemm_ns + 10, 100),
                700 - gemm_ns, 10),
      WithTimes(MakeNode(3, OpClass::kElementwise, OpKind::kWork, "thread 1", 720, 200), 200, 10)};
  data.edges = {{1, 2, "launch", false}, {2, 3, "comm_wait", false}, {1, 3, "thread", false}};
  data.collectives = {MakeTransfer(2, CommKind::kAllReduce, 1'000, 2)};
  data.records = {
      MakeRecord(1, 0, ReplayMode::kReal, 0, replayed_gemm_ns),
      MakeRecord(2, 0, ReplayMode::kReal, replayed_gemm_ns + 10, 630 - replayed_gemm_ns),
      MakeRecord(3, 0, ReplayMode::kReal, 645, rank == 0 ? 205 : 210)};
  data.steps = {
      {.iteration = 0, .warmup = false, .step = 0, .start_ns = kIterationNs, .duration_ns = 900}};
  return data;
}

RunData MakeTwoSidedRun() {
  RunData run;
  run.manifest.world_size = 2;
  run.manifest.hosts = {"h", "h"};
  run.manifest.recorded_step_ns = 1'000;
  run.ranks = {MakeTwoSided(0), MakeTwoSided(1)};
  return run;
}

std::map<std::string, std::int64_t> Parts(const FidelityDetails& details) {
  std::map<std::string, std::int64_t> parts;
  for (const DifferenceRow& row : details.difference->parts) {
    parts[row.name] = row.ns;
  }
  return parts;
}

TEST(Fidelity, TheDifferenceIsMadeOfPartsThatAddUp) {
  const FidelityDetails details = Analyze(MakeTwoSidedRun()).details;
  ASSERT_TRUE(details.difference) << details.why_not;
  EXPECT_EQ(details.difference->recorded_ns, 1'000);
  EXPECT_EQ(details.difference->replayed_ns, 900);
  const std::map<std::string, std::int64_t> expected = {
      {"gemm", -100}, {"transport", 30}, {"elementwise", 10}, {"wake_up", -5}, {"outside", -35}};
  EXPECT_EQ(Parts(details), expected);
}

TEST(Fidelity, CriticalPathsAreCompared) {
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> path;
  for (const PathRow& row : Analyze(MakeTwoSidedRun()).details.critical_path) {
    path[row.name] = {row.recorded_ns, row.replayed_ns};
  }
  EXPECT_EQ(path["gemm"], std::pair(std::int64_t{600}, std::int64_t{500}));
  EXPECT_EQ(path["comm"], std::pair(std::int64_t{100}, std::int64_t{130}));
  EXPECT_EQ(path["elementwise"], std::pair(std::int64_t{200}, std::int64_t{210}));
  EXPECT_EQ(path["delay"], std::pair(std::int64_t{20}, std::int64_t{15}));
}

TEST(Fidelity, ExposedCommunicationIsWhatNoOperationOverlaps) {
  RunData run = MakeTwoSidedRun();
  // Rank 1 also has a stream that is busy over 60 of its transfer, recorded and replayed.
  run.ranks[1].nodes.push_back(
      WithTimes(MakeNode(4, OpClass::kCopy, OpKind::kWork, "stream 0/7", 600, 60), 60, 600));
  run.ranks[1].records.push_back(MakeRecord(4, 0, ReplayMode::kReal, 500, 60));
  const auto overlap = Analyze(run).details.overlap;
  ASSERT_THAT(overlap, SizeIs(2));
  EXPECT_EQ(overlap[0].recorded_exposed_ns, 100);
  EXPECT_EQ(overlap[0].replayed_exposed_ns, 130);
  EXPECT_EQ(overlap[1].recorded_ns, 200);
  EXPECT_EQ(overlap[1].recorded_exposed_ns, 140);
  EXPECT_EQ(overlap[1].replayed_ns, 180);
  EXPECT_EQ(overlap[1].replayed_exposed_ns, 120);
}

TEST(Fidelity, HostNodesAreSqueezedWhereTheReplayMadeUpForLostTime) {
  // 100 of host work between two operations, the first of which took 50 longer: the second began
  // 60 after it, so only 60 were waited for.
  RunData run;
  run.manifest.recorded_step_ns = 400;
  RankData rank;
  rank.facts = {.recorded_step_ns = 400, .first_step_ns = 0};
  rank.nodes = {
      WithTimes(MakeNode(1, OpClass::kGemm, OpKind::kWork, "thread 1", 0, 100), 100, 0),
      WithTimes(MakeNode(2, OpClass::kHost, OpKind::kMetadata, "thread 1", 100, 100), 100, 0),
      WithTimes(MakeNode(3, OpClass::kGemm, OpKind::kWork, "thread 1", 200, 100), 100, 0)};
  rank.edges = {{1, 2, "thread", false}, {2, 3, "thread", false}};
  rank.records = {MakeRecord(1, 0, ReplayMode::kReal, 0, 150),
                  MakeRecord(3, 0, ReplayMode::kReal, 210, 100)};
  rank.steps = {
      {.iteration = 0, .warmup = false, .step = 0, .start_ns = kIterationNs, .duration_ns = 410}};
  run.ranks = {rank};
  const FidelityDetails details = Analyze(run).details;
  ASSERT_TRUE(details.difference) << details.why_not;
  const std::map<std::string, std::int64_t> expected = {
      {"gemm", 50}, {"host_delay", -40}, {"outside", 0}};
  EXPECT_EQ(Parts(details), expected);
}

TEST(Fidelity, NodesAndTopDifferences) {
  const FidelityDetails details = Analyze(MakeTwoSidedRun()).details;
  ASSERT_TRUE(details.nodes);
  EXPECT_EQ(details.nodes->count, 4);
  EXPECT_DOUBLE_EQ(details.nodes->mean_absolute_error, (100 + 50 + 5 + 10) / 1500.0);
  EXPECT_DOUBLE_EQ(details.nodes->within_tenth, 900 / 1500.0);
  ASSERT_THAT(details.top_differences, SizeIs(2));
  EXPECT_EQ(details.top_differences[0].name, "op1");
  EXPECT_EQ(details.top_differences[0].replayed_ns, 950);
  EXPECT_THAT(details.top_differences[0].cause, HasSubstr("small"));
  EXPECT_THAT(details.actors, SizeIs(2));
  EXPECT_EQ(details.actors[0].recorded_gaps_ns, 120);
  EXPECT_EQ(details.actors[0].replayed_gaps_ns, 145);
}

TEST(Fidelity, ARunWithoutDelaysSaysSo) {
  const FidelityDetails details = Analyze(MakeRun()).details;
  EXPECT_FALSE(details.difference);
  EXPECT_THAT(details.why_not, HasSubstr("earlier version"));
  EXPECT_THAT(details.critical_path, IsEmpty());
}

TEST(Fidelity, TextKeepsToTheWidthAndJsonHasAll) {
  const Report report = Analyze(MakeTwoSidedRun());
  const std::string text = FullText(report, false);
  EXPECT_THAT(text, HasSubstr("What the difference is made of"));
  EXPECT_THAT(text, HasSubstr("transport"));
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    EXPECT_LE(end - at, 100U) << text.substr(at, end - at);
    at = end + 1;
  }
  const auto json = nlohmann::json::parse(JsonText(report)).at("fidelity");
  std::int64_t sum_ns = 0;
  for (const auto& part : json.at("difference").at("parts")) {
    sum_ns += part.at("difference_ns").get<std::int64_t>();
  }
  EXPECT_EQ(sum_ns, -100);
  EXPECT_EQ(json.at("overlap").size(), 2U);
  EXPECT_TRUE(json.at("difference_unknown_because").is_null());
}

// On the machine where it was recorded, that machine is no cause.
TEST(Fidelity, CausesOnTheRecordedMachine) {
  RunData run = MakeTwoSidedRun();
  constexpr std::int64_t kScale = 1'000'000;  // no small operations
  for (RankData& rank : run.ranks) {
    rank.facts.recorded_processor = rank.facts.processor = "AMD EPYC 7742";
    rank.facts.computes_on = "cpu";
    for (NodeInfo& node : rank.nodes) {
      node.recorded_duration_ns *= kScale;
    }
  }
  const auto cause = [&run] { return Analyze(run).details.top_differences.at(0).cause; };
  EXPECT_THAT(cause(), HasSubstr("on the recorded machine"));
  EXPECT_THAT(cause(), Not(HasSubstr("this machine")));
  for (RankData& rank : run.ranks) {
    for (NodeInfo& node : rank.nodes) {
      node.recorded_tracing_ns = node.recorded_duration_ns * 3 / 4;
    }
  }
  EXPECT_THAT(cause(), HasSubstr("tracing: the profiler took 75 % of its recorded time"));
  for (RankData& rank : run.ranks) {
    rank.facts.processor = "another";
    for (NodeInfo& node : rank.nodes) {
      node.recorded_tracing_ns = 0;
    }
  }
  EXPECT_THAT(cause(), HasSubstr("this machine or kernel is faster"));
}

// A thousand nodes, as often as it takes: their quantiles are those of one time, to within a bin.
TEST(Fidelity, QuantilesOfManyNodesAreOfNarrowBins) {
  RankData data;
  constexpr std::uint64_t kNodes = 1'000;
  for (std::uint64_t id = 1; id <= kNodes; ++id) {
    data.nodes.push_back(MakeNode(id, OpClass::kGemm, OpKind::kWork, "thread 1", 0, 1'000));
    const auto replayed_ns = static_cast<std::int64_t>(id * 7'919 % 1'500);
    data.records.push_back(MakeRecord(id, 0, ReplayMode::kReal, 0, replayed_ns));
  }
  data.steps = {{.iteration = 0, .duration_ns = 1'000}};
  const NodeErrorSums few((MeasuredRank(data)));
  NodeErrorSums many;
  constexpr std::int64_t kTimes = NodeErrorSums::kMostExact / kNodes + 1;
  for (std::int64_t i = 0; i < kTimes; ++i) {
    many.Add(few);
  }
  const auto exact = few.Finish();
  const auto of_bins = many.Finish();
  ASSERT_TRUE(exact && of_bins);
  EXPECT_EQ(of_bins->count, kTimes * exact->count);
  EXPECT_DOUBLE_EQ(of_bins->mean_absolute_error, exact->mean_absolute_error);
  EXPECT_DOUBLE_EQ(of_bins->within_tenth, exact->within_tenth);
  constexpr double kBinWidth = 1.0 / (1 << 14);
  for (const auto quantile :
       {&NodeErrors::p05, &NodeErrors::p25, &NodeErrors::p50, &NodeErrors::p75, &NodeErrors::p95}) {
    const double ratio = 1 + (*exact).*quantile;
    EXPECT_NEAR(1 + (*of_bins).*quantile, ratio, kBinWidth * ratio);
    EXPECT_NE((*of_bins).*quantile, (*exact).*quantile);  // it was not the exact way
  }
}

}  // namespace
}  // namespace reprise
