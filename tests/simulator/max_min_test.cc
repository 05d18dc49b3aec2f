// Rates of flows that share links: by hand, against plain progressive filling, and by class.
#include "predict/simulator/max_min.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/simulator/flow_graphs.h"

namespace reprise {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

TEST(MaxMin, OneLinkIsSharedEqually) {
  MaxMinFair fair;
  const auto link = fair.AddLink(12);
  const auto a = fair.AddFlow({{link}});
  const auto b = fair.AddFlow({{link}});
  const auto c = fair.AddFlow({{link}});
  fair.Solve();
  EXPECT_EQ(fair.rate(a), 4);
  fair.RemoveFlow(b);
  EXPECT_THAT(fair.Solve(), UnorderedElementsAre(a, c));
  EXPECT_EQ(fair.rate(c), 6);
}

// The textbook's line of links: the long flow gets what its worst link leaves, the short ones the
// rest.
TEST(MaxMin, TheWorstLinkBinds) {
  struct Rates {
    double capacity, both, first, second;
  };
  for (const Rates& expected : {Rates{2, 1, 1, 9}, Rates{20, 5, 15, 5}}) {
    MaxMinFair fair;
    const auto link = fair.AddLink(expected.capacity);
    const auto wide = fair.AddLink(10);
    const auto both = fair.AddFlow({{link}, {wide}});
    const auto first = fair.AddFlow({{link}});
    const auto second = fair.AddFlow({{wide}});
    fair.Solve();
    EXPECT_EQ(fair.rate(both), expected.both);
    EXPECT_EQ(fair.rate(first), expected.first);
    EXPECT_EQ(fair.rate(second), expected.second);
  }
}

TEST(MaxMin, BoundsLeaveTheRestToOthers) {
  MaxMinFair fair;
  const auto link = fair.AddLink(10);
  const auto slow = fair.AddFlow({{link}}, 2);
  const auto fast = fair.AddFlow({{link}}, 20);
  const auto alone = fair.AddFlow({}, 7);
  fair.Solve();
  EXPECT_EQ(fair.rate(slow), 2);
  EXPECT_EQ(fair.rate(fast), 8);
  EXPECT_EQ(fair.rate(alone), 7);
}

TEST(MaxMin, OnlyWhatHangsTogetherIsSolvedAgain) {
  MaxMinFair fair;
  std::vector<MaxMinFair::Link> links;
  for (int i = 0; i < 100; ++i) {
    links.push_back(fair.AddLink(10));
    fair.AddFlow({{links.back()}});
  }
  EXPECT_EQ(fair.Solve().size(), 100U);
  const std::uint64_t before = fair.solved_flows();
  const auto flow = fair.AddFlow({{links[3]}, {links[4]}});
  EXPECT_EQ(fair.Solve().size(), 3U);
  EXPECT_EQ(fair.solved_flows() - before, 3U);
  EXPECT_EQ(fair.rate(flow), 5);
  EXPECT_THAT(fair.Solve(), IsEmpty());
}

TEST(MaxMin, EqualsPlainFillingOnRandomGraphs) {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    const FlowGraph graph = RandomFlowGraph(seed);
    const std::vector<double> expected = PlainRates(graph);
    MaxMinFair fair;
    for (const double capacity : graph.capacity) {
      fair.AddLink(capacity);
    }
    // Half of the flows come later, and some that go again in between.
    std::vector<MaxMinFair::Flow> flows;
    for (std::size_t i = 0; i < graph.links_of_flow.size(); ++i) {
      flows.push_back(fair.AddFlow(CrossingsOf(graph.links_of_flow[i])));
      if (i % 3 == 0) {
        const auto guest = fair.AddFlow(CrossingsOf(graph.links_of_flow[i]));
        fair.Solve();
        fair.RemoveFlow(guest);
      }
    }
    fair.Solve();
    for (std::size_t i = 0; i < flows.size(); ++i) {
      ASSERT_NEAR(fair.rate(flows[i]), expected[i], 1e-9 * expected[i]) << "seed " << seed;
    }
  }
}

// `copies` copies of a random graph, each flow on its copy of its links; besides, one link of each
// copy that all copies' flows cross. Class by class, that is one graph with counts.
TEST(MaxMin, ClassesAreTheSameToTheLastBit) {
  for (std::uint32_t seed = 0; seed < 100; ++seed) {
    const FlowGraph graph = RandomFlowGraph(seed);
    const std::uint32_t copies = 1 + seed % 7;
    MaxMinFair folded;
    MaxMinFair unfolded;
    const auto shared_folded = folded.AddLink(3.7);
    const auto shared = unfolded.AddLink(3.7);
    for (const double capacity : graph.capacity) {
      folded.AddLink(capacity);
    }
    for (std::uint32_t copy = 0; copy < copies; ++copy) {
      for (const double capacity : graph.capacity) {
        unfolded.AddLink(capacity);
      }
    }
    std::vector<MaxMinFair::Flow> classes;
    std::vector<std::vector<MaxMinFair::Flow>> flows(graph.links_of_flow.size());
    for (std::size_t i = 0; i < graph.links_of_flow.size(); ++i) {
      const bool crosses = i % 2 == 0;
      std::vector<MaxMinFair::Crossing> crossings;
      for (const std::uint32_t link : graph.links_of_flow[i]) {
        crossings.push_back({link + 1});
      }
      for (std::uint32_t copy = 0; copy < copies; ++copy) {
        std::vector<MaxMinFair::Crossing> of_copy = crossings;
        for (MaxMinFair::Crossing& crossing : of_copy) {
          crossing.link += copy * static_cast<std::uint32_t>(graph.capacity.size());
        }
        if (crosses) {
          of_copy.push_back({shared});
        }
        flows[i].push_back(unfolded.AddFlow(of_copy));
      }
      if (crosses) {
        crossings.push_back({shared_folded, copies});
      }
      classes.push_back(folded.AddFlow(crossings));
    }
    folded.Solve();
    unfolded.Solve();
    for (std::size_t i = 0; i < classes.size(); ++i) {
      for (const auto flow : flows[i]) {
        ASSERT_EQ(unfolded.rate(flow), folded.rate(classes[i])) << "seed " << seed;
      }
    }
  }
}

// What max-min fairness means: every flow crosses a full link on which nobody gets more.
TEST(MaxMin, EveryFlowHasABottleneck) {
  for (std::uint32_t seed = 0; seed < 100; ++seed) {
    const FlowGraph graph = RandomFlowGraph(seed);
    MaxMinFair fair;
    for (const double capacity : graph.capacity) {
      fair.AddLink(capacity);
    }
    std::vector<MaxMinFair::Flow> flows;
    for (const auto& links : graph.links_of_flow) {
      flows.push_back(fair.AddFlow(CrossingsOf(links)));
    }
    fair.Solve();
    std::vector<double> load(graph.capacity.size());
    std::vector<double> most(graph.capacity.size());
    for (std::size_t i = 0; i < flows.size(); ++i) {
      for (const std::uint32_t link : graph.links_of_flow[i]) {
        load[link] += fair.rate(flows[i]);
        most[link] = std::max(most[link], fair.rate(flows[i]));
      }
    }
    for (std::size_t i = 0; i < flows.size(); ++i) {
      const auto& links = graph.links_of_flow[i];
      EXPECT_TRUE(std::any_of(links.begin(), links.end(),
                              [&](std::uint32_t link) {
                                return load[link] > graph.capacity[link] * (1 - 1e-9) &&
                                       fair.rate(flows[i]) >= most[link] * (1 - 1e-9);
                              }))
          << "seed " << seed;
    }
    for (std::size_t link = 0; link < load.size(); ++link) {
      EXPECT_LE(load[link], graph.capacity[link] * (1 + 1e-9));
    }
  }
}

}  // namespace
}  // namespace reprise
