// Times of several hosts on one clock.
#include "report/run/clocks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace reprise {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Optional;

constexpr std::int64_t kSecondNs = 1'000'000'000;

RankData Rank(std::int32_t number, const std::string& host, std::int64_t time_ns) {
  RankData rank;
  rank.rank = number;
  rank.host = host;
  rank.records = {{.node_id = 1, .start_ns = time_ns, .duration_ns = 5}};
  rank.steps = {{.start_ns = time_ns - 10, .duration_ns = 20}};
  rank.samples = {{.metric = 0, .time_ns = time_ns + 1, .value = 3}};
  return rank;
}

TEST(RelateClocks, OneHostStaysAsItIs) {
  RunData run;
  run.ranks = {Rank(0, "a", 100), Rank(1, "a", 200)};
  RelateClocks(run);
  EXPECT_EQ(run.ranks[1].records[0].start_ns, 200);
  EXPECT_THAT(run.ranks[1].clock_uncertainty_ns, Optional(0));
}

TEST(RelateClocks, ReadingsOfAHostServeAllItsRanks) {
  RunData run;
  run.ranks = {Rank(0, "a", kSecondNs), Rank(1, "b", 11 * kSecondNs + 100'000),
               Rank(2, "b", 16 * kSecondNs + 150'000)};
  run.ranks[0].facts.clock_readings = {{0, 0, 0}};
  // 10 s ahead and 10 ppm too fast.
  run.ranks[1].facts.clock_readings = {{kSecondNs, 10 * kSecondNs, 40},
                                       {21 * kSecondNs, 10 * kSecondNs + 200'000, 50}};
  RelateClocks(run);
  EXPECT_EQ(run.ranks[0].records[0].start_ns, kSecondNs);
  EXPECT_THAT(run.ranks[0].clock_uncertainty_ns, Optional(0));
  EXPECT_NEAR(run.ranks[1].records[0].start_ns, kSecondNs, 2);
  EXPECT_NEAR(run.ranks[2].records[0].start_ns, 6 * kSecondNs, 2);
  EXPECT_EQ(run.ranks[1].steps[0].start_ns, run.ranks[1].records[0].start_ns - 10);
  EXPECT_EQ(run.ranks[1].samples[0].time_ns, run.ranks[1].records[0].start_ns + 1);
  EXPECT_THAT(run.ranks[2].clock_uncertainty_ns, Optional(50));
  EXPECT_THAT(run.notes, IsEmpty());
}

TEST(RelateClocks, WallClocksServeWhereNothingBetterIsThereAndAreNamed) {
  RunData run;
  run.ranks = {Rank(0, "a", 100), Rank(1, "b", 7 * kSecondNs + 100)};
  // a's monotonic clock is 50 s behind Unix time, b's 43 s.
  run.ranks[0].facts.wall_readings = {{0, -50 * kSecondNs, 2'000'000},
                                      {1000, -50 * kSecondNs, 2'000'000}};
  run.ranks[1].facts.wall_readings = {{7 * kSecondNs, -43 * kSecondNs, 3'000'000},
                                      {7 * kSecondNs + 1000, -43 * kSecondNs, 3'000'000}};
  RelateClocks(run);
  EXPECT_EQ(run.ranks[0].records[0].start_ns, 100);
  EXPECT_EQ(run.ranks[1].records[0].start_ns, 100);
  EXPECT_THAT(run.ranks[1].clock_uncertainty_ns, Optional(5'000'000));
  EXPECT_THAT(run.notes, Contains(HasSubstr("wall clocks only: to 5.0 ms")));
}

TEST(RelateClocks, AHostWithoutReadingsLeavesAllUnrelated) {
  RunData run;
  run.ranks = {Rank(0, "a", 100), Rank(1, "b", 200), Rank(2, "c", 300)};
  run.ranks[0].facts.clock_readings = {{0, 0, 0}};
  run.ranks[1].facts.clock_readings = {{0, 50, 1}};
  RelateClocks(run);
  for (const RankData& rank : run.ranks) {
    EXPECT_EQ(rank.clock_uncertainty_ns, std::nullopt);
  }
  EXPECT_EQ(run.ranks[1].records[0].start_ns, 200);
}

}  // namespace
}  // namespace reprise
