#include "core/timing/attribution.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "tests/timing/graph_builder.h"

namespace reprise {
namespace {

using ::testing::ElementsAre;

Replacement Same(const TimingGraph& graph, std::size_t parts) {
  return {.parts = parts,
          .duration_ns = graph.duration_ns,
          .delay_ns = graph.delay_ns,
          .transfer_ns = graph.transfer_ns,
          .duration_part = std::vector<std::uint8_t>(graph.size(), 0),
          .delay_part = std::vector<std::uint8_t>(graph.size(), 0)};
}

Attribution AttributeIn(const TimingGraph& graph, const Replacement& by) {
  return Attribute(EventOrder::Find(graph).value(), by);
}

TEST(Attribution, AChainGivesEachPartItsOwnChange) {
  const TimingGraph graph = MakeGraph({{0, 100, {}}, {10, 50, {0}}, {10, 30, {1}}});
  Replacement by = Same(graph, 3);
  by.duration_part = {0, 1, 0};
  by.delay_part = {2, 2, 2};
  by.duration_ns = {80, 70, 25};
  by.delay_ns = {0, 10, 4};
  const Attribution attribution = AttributeIn(graph, by);
  EXPECT_EQ(attribution.before_ns, 200);
  EXPECT_EQ(attribution.after_ns, 189);
  EXPECT_THAT(attribution.part_ns, ElementsAre(-25, 20, -6));
}

TEST(Attribution, WhatIsOffTheCriticalPathMovesNothing) {
  // Two branches from 0 into 3; the first is 100 shorter and grows by 60.
  const TimingGraph graph = MakeGraph({{0, 1, {}}, {0, 100, {0}}, {0, 200, {0}}, {0, 1, {1, 2}}});
  Replacement by = Same(graph, 2);
  by.duration_part = {0, 1, 0, 0};
  by.duration_ns = {1, 160, 200, 1};
  const Attribution attribution = AttributeIn(graph, by);
  EXPECT_THAT(attribution.part_ns, ElementsAre(0, 0));
}

TEST(Attribution, BothDirectionsCountWhereBranchesCompete) {
  // Each branch alone gains nothing, both together gain 100: half each.
  const TimingGraph graph = MakeGraph({{0, 200, {}}, {0, 200, {}}, {0, 1, {0, 1}}});
  Replacement by = Same(graph, 2);
  by.duration_part = {0, 1, 0};
  by.duration_ns = {100, 100, 1};
  const Attribution attribution = AttributeIn(graph, by);
  EXPECT_THAT(attribution.part_ns, ElementsAre(-50, -50));
}

TEST(Attribution, PartsAddUpExactlyOnRandomGraphs) {
  std::mt19937 random(7);
  const auto draw = [&random](int below) { return static_cast<int>(random() % below); };
  for (int round = 0; round < 200; ++round) {
    std::vector<TestNode> nodes;
    for (int i = 0; i < 40; ++i) {
      TestNode node{.delay_ns = draw(20), .duration_ns = draw(100)};
      for (int d = draw(3); d > 0 && i > 0; --d) {
        node.deps.push_back(static_cast<std::uint32_t>(draw(i)));
      }
      nodes.push_back(node);
    }
    const TimingGraph graph = MakeGraph(nodes);
    Replacement by = Same(graph, 5);
    for (std::size_t i = 0; i < graph.size(); ++i) {
      by.duration_ns[i] = draw(100);
      by.delay_ns[i] = draw(30) - 5;
      by.duration_part[i] = static_cast<std::uint8_t>(draw(5));
      by.delay_part[i] = static_cast<std::uint8_t>(draw(5));
    }
    const Attribution attribution = AttributeIn(graph, by);
    const auto& parts = attribution.part_ns;
    EXPECT_EQ(std::accumulate(parts.begin(), parts.end(), std::int64_t{0}),
              attribution.after_ns - attribution.before_ns);
    TimingGraph replaced = graph;
    replaced.duration_ns = by.duration_ns;
    replaced.delay_ns = by.delay_ns;
    EXPECT_EQ(DryRun(replaced)->makespan_ns, attribution.after_ns);
  }
}

TEST(Attribution, APartThatChangesNothingMovesNothing) {
  const TimingGraph graph = MakeGraph({{0, 100, {}}, {10, 50, {0}}});
  const Attribution attribution = AttributeIn(graph, Same(graph, 2));
  EXPECT_EQ(attribution.before_ns, 160);
  EXPECT_EQ(attribution.after_ns, 160);
  EXPECT_THAT(attribution.part_ns, ElementsAre(0, 0));
}

}  // namespace
}  // namespace reprise
