// When a rank's place counts as different from the others'.
#include "report/compare/rank_placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/compare/present.h"
#include "report/compare/ranks.h"

namespace reprise {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

RankPlacement Placed(std::string host, std::int32_t numa_node = 0, std::int32_t links = 4) {
  RankPlacement of{.host = std::move(host), .process_numa_nodes = "0,2-3"};
  of.device = {.numa_node = numa_node, .pcie_lanes = 16, .links = links, .link_kind = "xgmi"};
  return of;
}

std::vector<std::string> Differences(const RankPlacement& of,
                                     const std::vector<RankPlacement>& others) {
  std::vector<const RankPlacement*> pointers;
  pointers.reserve(others.size());
  for (const RankPlacement& other : others) {
    pointers.push_back(&other);
  }
  return PlacementDifferences(of, pointers);
}

TEST(RankPlacement, AHostDiffersWhereTheOthersShareTheirs) {
  EXPECT_THAT(Differences(Placed("b"), {Placed("a"), Placed("a")}),
              ElementsAre("none of the 2 other ranks is on that host"));
  EXPECT_THAT(Differences(Placed("b"), {Placed("a")}), ElementsAre("the other rank is on a"));
  EXPECT_THAT(Differences(Placed("a"), {Placed("a"), Placed("b")}), IsEmpty());
  EXPECT_THAT(Differences(Placed("c"), {Placed("a"), Placed("b")}), IsEmpty())
      << "every rank has a host of its own";
  EXPECT_THAT(Differences(Placed("b"), {Placed(""), Placed("")}), IsEmpty()) << "not known";
  EXPECT_THAT(Differences(Placed(""), {Placed("a"), Placed("a")}), IsEmpty());
}

TEST(RankPlacement, NumaNodesDifferWhereMostOthersHaveBothOnOne) {
  EXPECT_THAT(Differences(Placed("a", 1), {Placed("a"), Placed("a", 3), Placed("a", 1)}),
              ElementsAre("its device is on NUMA node 1, its process on 0,2-3; 2 of 3 other ranks "
                          "have both on one"));
  EXPECT_THAT(Differences(Placed("a", 1), {Placed("a"), Placed("a", 1)}), IsEmpty());
  EXPECT_THAT(Differences(Placed("a", 2), {Placed("a"), Placed("a")}), IsEmpty());
  EXPECT_THAT(Differences(Placed("a", 1), {Placed("a", -1)}), IsEmpty()) << "not known";
  RankPlacement damaged = Placed("a", 1);
  damaged.process_numa_nodes = "0-";
  EXPECT_THAT(Differences(damaged, {Placed("a")}), IsEmpty());
}

TEST(RankPlacement, FewerLinksAndLanesThanMostOthers) {
  EXPECT_THAT(Differences(Placed("a", 0, 0), {Placed("a"), Placed("a"), Placed("a", 0, 2)}),
              ElementsAre("its device has 0 xgmi links up, most others 4"));
  EXPECT_THAT(Differences(Placed("a", 0, 6), {Placed("a"), Placed("a")}), IsEmpty()) << "more";
  EXPECT_THAT(Differences(Placed("a", 0, 0), {Placed("a", 0, 4), Placed("a", 0, 2)}), IsEmpty())
      << "no usual number";
  EXPECT_THAT(Differences(Placed("a", 0, -1), {Placed("a")}), IsEmpty()) << "not known";
  RankPlacement narrow = Placed("a");
  narrow.device.pcie_lanes = 8;
  EXPECT_THAT(Differences(narrow, {Placed("a")}),
              ElementsAre("its device has 8 PCIe lanes, most others 16"));
  narrow.device.pcie_lanes = 0;
  EXPECT_THAT(Differences(narrow, {Placed("a")}), IsEmpty());
}

RankOperations Loaded(std::int32_t number, std::int64_t time_ns, const RankPlacement& placement) {
  RankOperations rank{
      .rank = number, .host = placement.host, .placement = placement, .steps = 1, .step_ns = {100}};
  rank.operations = {{.name = "aten::mm", .op_class = OpClass::kGemm, .time_ns = time_ns}};
  rank.activity = {RankActivity{.steps_ns = 100}};
  return rank;
}

TEST(RankPlacement, OnlyOfStragglers) {
  JobOperations job{.label = "job", .world_size = 4};
  job.ranks = {Loaded(0, 50, Placed("a")), Loaded(1, 50, Placed("a", 1)),
               Loaded(2, 50, Placed("a")), Loaded(3, 80, Placed("b", 1, 2))};
  const RankComparison of = CompareRanksOf(job);
  EXPECT_THAT(of.stragglers, ElementsAre(3));
  ASSERT_EQ(of.observations.size(), 1U);
  EXPECT_THAT(of.observations[0], HasSubstr("rank 3, on b in slot 0: none of the 3 other ranks"));
  EXPECT_THAT(of.observations[0], HasSubstr("; its device is on NUMA node 1"));
  EXPECT_THAT(of.observations[0], HasSubstr("; its device has 2 xgmi links up, most others 4"));
}

TEST(RankPlacement, SlotsAreTheRecordedOnesOrPositionsWhereAllRanksAreThere) {
  JobOperations job{.label = "job", .world_size = 3};
  job.ranks = {Loaded(0, 50, Placed("a")), Loaded(1, 50, Placed("b")), Loaded(2, 50, Placed("a"))};
  const auto slots = [&job] {
    std::vector<std::int32_t> found;
    for (const RankLoad& rank : CompareRanksOf(job).ranks) {
      found.push_back(rank.slot);
    }
    return found;
  };
  EXPECT_THAT(slots(), ElementsAre(0, 0, 1));
  job.ranks[1].placement.slot = 5;
  EXPECT_THAT(slots(), ElementsAre(0, 5, 1));
  job.world_size = 4;  // one is missing: positions would be a guess
  EXPECT_THAT(slots(), ElementsAre(-1, 5, -1));
  const RankComparison of = CompareRanksOf(job);
  EXPECT_THAT(RanksText(job, of, Style(), false), HasSubstr("a/-"));
}

}  // namespace
}  // namespace reprise
