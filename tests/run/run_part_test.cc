// What runs have in common, and runs cut to it.
#include "report/run/run_part.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace reprise {
namespace {

using ::testing::ElementsAre;

// Two nodes in each of three steps.
RunData MakeRun(std::int32_t ranks) {
  RunData run;
  run.manifest.recorded_step_ns = 100;
  for (std::int32_t r = 0; r < ranks; ++r) {
    RankData& rank = run.ranks.emplace_back();
    rank.rank = r;
    rank.facts.recorded_step_ns = 100;
    for (std::int32_t step = 0; step < 3; ++step) {
      rank.steps.push_back({.step = step, .start_ns = step * 100, .duration_ns = 100});
      for (std::uint64_t i = 0; i < 2; ++i) {
        const std::uint64_t id = static_cast<std::uint64_t>(step) * 2 + i;
        rank.nodes.push_back({.node_id = id, .name = "n" + std::to_string(id), .step = step});
        rank.origins.push_back({.caller = "c" + std::to_string(id)});
        rank.records.push_back({.node_id = id, .step = step});
        rank.edges.push_back({.from = id, .to = id + 1});
      }
    }
  }
  return run;
}

TEST(RunPartTest, CommonRanksAndTheFewestSteps) {
  const std::vector<RunPart> parts = {{{0, 3}, {1, 3}}, {{0, 2}, {2, 5}}};
  EXPECT_THAT(CommonParts(parts), ElementsAre(RunPart{{0, 2}}, RunPart{{0, 2}}));
  // One rank each: whatever their numbers.
  const std::vector<RunPart> single = {{{0, 3}}, {{7, 2}}};
  EXPECT_THAT(CommonParts(single), ElementsAre(RunPart{{0, 2}}, RunPart{{7, 2}}));
  const std::vector<RunPart> apart = {{{0, 3}, {1, 3}}, {{7, 2}}};
  EXPECT_THAT(CommonParts(apart), ElementsAre(RunPart(), RunPart()));
}

TEST(RunPartTest, WhatIsLeftOutIsGoneEverywhere) {
  RunData run = MakeRun(2);
  EXPECT_EQ(PartOf(run), (RunPart{{0, 3}, {1, 3}}));
  KeepPart({{1, 2}}, run);
  EXPECT_EQ(PartOf(run), (RunPart{{1, 2}}));
  ASSERT_EQ(run.ranks.size(), 1U);
  const RankData& rank = run.ranks[0];
  EXPECT_EQ(rank.nodes.size(), 4U);
  ASSERT_EQ(rank.origins.size(), 4U);
  EXPECT_EQ(rank.origins[3].caller, "c3");
  EXPECT_EQ(rank.records.size(), 4U);
  EXPECT_EQ(rank.edges.size(), 3U);  // none leads to node 4
  EXPECT_FALSE(rank.facts.recorded_step_ns);
  EXPECT_EQ(run.manifest.recorded_step_ns, 0);
}

TEST(RunPartTest, AWholeRankKeepsItsRecordedStep) {
  RunData run = MakeRun(2);
  KeepPart({{0, 3}}, run);
  EXPECT_EQ(run.ranks[0].nodes.size(), 6U);
  EXPECT_EQ(run.ranks[0].facts.recorded_step_ns, 100);
}

}  // namespace
}  // namespace reprise
