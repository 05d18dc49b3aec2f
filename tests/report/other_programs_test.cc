// Other programs' share of the cores, from given counters.
#include "report/fidelity/other_programs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/text/verdict_warnings.h"
#include "report/values/report.h"

namespace reprise {
namespace {

using ::testing::Contains;
using ::testing::DoubleNear;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Optional;
using ::testing::StartsWith;

constexpr std::int64_t kMs = 1'000'000;

// Iteration 0 warms up; the others take a second. In milliseconds of CPU time.
struct Ms {
  std::int64_t own, busy, stolen;
};
RankData RankWithLoads(std::int32_t number, const std::string& host,
                       std::vector<std::int64_t> cores, const std::vector<Ms>& measured) {
  RankData rank;
  rank.rank = number;
  rank.host = host;
  rank.facts.cores = std::move(cores);
  rank.facts.iteration_loads = {{.iteration = 0, .wall_ns = kMs, .busy_ns = 999 * kMs}};
  for (const Ms& ms : measured) {
    rank.facts.iteration_loads.push_back(
        {.iteration = static_cast<std::int64_t>(rank.facts.iteration_loads.size()),
         .wall_ns = 1000 * kMs,
         .own_cpu_ns = ms.own * kMs,
         .busy_ns = ms.busy * kMs,
         .stolen_ns = ms.stolen * kMs,
         .pressure_ns = 900 * kMs,
         .involuntary_switches = 7,
         .load_hundredths = 250});
  }
  return rank;
}

RunData RunWithLoads(std::vector<RankData> ranks) {
  RunData run;
  run.ranks = std::move(ranks);
  return run;
}

std::vector<std::string> Warnings(const ProcessorUse& use) {
  Report report;
  report.manifest.complete = true;
  report.processor_use = use;
  return VerdictWarnings(report, {});
}

// Both ranks read all of the two cores; what both used is the job's own.
TEST(OtherPrograms, OwnRanksAreNoOtherPrograms) {
  const RunData run =
      RunWithLoads({RankWithLoads(0, "h", {0, 1}, {{950, 1900, 0}, {990, 1995, 0}}),
                    RankWithLoads(1, "h", {0, 1}, {{950, 1900, 0}, {995, 1995, 0}})});
  const ProcessorUse use = ProcessorUseOf(run, 1, 2);
  EXPECT_THAT(use.shares.others, Optional(DoubleNear(0.01 / 4, 1e-9)));
  EXPECT_EQ(use.cores, 2);
  EXPECT_EQ(use.disturbed, 0);
  EXPECT_THAT(use.iterations[0].pressure, Optional(0.9));  // of own threads
  EXPECT_THAT(use.iterations[0].load, Optional(2.5));
  EXPECT_EQ(use.iterations[0].involuntary_switches, 14);
  EXPECT_THAT(Warnings(use), Not(Contains(StartsWith("Other"))));
}

TEST(OtherPrograms, ABusyIterationIsMarked) {
  const RunData run =
      RunWithLoads({RankWithLoads(0, "h", {0, 1}, {{500, 1000, 0}, {500, 1900, 0}}),
                    RankWithLoads(1, "h", {0, 1}, {{500, 1000, 0}, {400, 1900, 0}})});
  const ProcessorUse use = ProcessorUseOf(run, 1, 2);
  EXPECT_FALSE(use.iterations[0].disturbed);
  EXPECT_TRUE(use.iterations[1].disturbed);
  EXPECT_THAT(use.iterations[1].shares.others, Optional(DoubleNear(0.5, 1e-9)));
  EXPECT_THAT(use.shares.others, Optional(DoubleNear(0.25, 1e-9)));
  EXPECT_THAT(Warnings(use), Contains("Other programs used 25 % of the 2 cores, and disturbed 1 of "
                                      "2 iterations. Repeat when the machine is idle."));
}

TEST(OtherPrograms, StolenTimeIsNamedSeparately) {
  const RunData run = RunWithLoads({RankWithLoads(0, "h", {0, 1}, {{1000, 1000, 600}})});
  const ProcessorUse use = ProcessorUseOf(run, 1, 1);
  EXPECT_THAT(use.shares.others, Optional(0.0));
  EXPECT_THAT(use.shares.stolen, Optional(DoubleNear(0.3, 1e-9)));
  EXPECT_THAT(Warnings(use), Contains(StartsWith("Other virtual machines used 30 %")));
}

TEST(OtherPrograms, RanksBoundToCoresOfTheirOwnAddUp) {
  const RunData run = RunWithLoads(
      {RankWithLoads(0, "h", {0}, {{400, 400, 0}}), RankWithLoads(1, "h", {1}, {{500, 1000, 0}})});
  EXPECT_THAT(ProcessorUseOf(run, 1, 1).shares.others, Optional(DoubleNear(0.25, 1e-9)));
}

TEST(OtherPrograms, TheBusiestHostCounts) {
  const RunData run = RunWithLoads({RankWithLoads(0, "a", {0}, {{400, 400, 0}}),
                                    RankWithLoads(1, "b", {0, 1}, {{500, 1500, 0}})});
  const ProcessorUse use = ProcessorUseOf(run, 1, 1);
  EXPECT_THAT(use.shares.others, Optional(DoubleNear(0.5, 1e-9)));
  EXPECT_EQ(use.cores, 2);
}

// Two ticks of 10 ms may be of before and after an iteration of 50 ms.
TEST(OtherPrograms, TicksAloneAreNoDisturbance) {
  RunData run = RunWithLoads({RankWithLoads(0, "h", {0, 1}, {{80, 100, 0}})});
  run.ranks[0].facts.iteration_loads.back().wall_ns = 50 * kMs;
  const ProcessorUse use = ProcessorUseOf(run, 1, 1);
  EXPECT_THAT(use.shares.others, Optional(DoubleNear(0.2, 1e-9)));
  EXPECT_EQ(use.disturbed, 0);
  EXPECT_THAT(Warnings(use), Not(Contains(StartsWith("Other"))));
}

TEST(OtherPrograms, NothingIsClaimedOfWhatIsNotKnown) {
  EXPECT_THAT(ProcessorUseOf(RunWithLoads({RankData{}}), 0, 3).iterations, IsEmpty());
  // Cores in common in part: whose time it was is not known.
  const ProcessorUse common =
      ProcessorUseOf(RunWithLoads({RankWithLoads(0, "h", {0, 1}, {{400, 900, 0}}),
                                   RankWithLoads(1, "h", {1}, {{500, 900, 0}})}),
                     1, 1);
  EXPECT_EQ(common.shares.others, std::nullopt);
  EXPECT_THAT(common.iterations[0].pressure, Optional(0.9));
  RunData unreadable = RunWithLoads({RankWithLoads(0, "h", {0}, {{1, 2, 3}})});
  unreadable.ranks[0].facts.iteration_loads.back().busy_ns = -1;
  EXPECT_EQ(ProcessorUseOf(unreadable, 1, 1).shares.others, std::nullopt);
}

}  // namespace
}  // namespace reprise
