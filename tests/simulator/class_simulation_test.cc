// Classes of equal ranks: found, simulated once, and the same to the last bit as rank by rank.
#include "predict/simulator/class_simulation.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "predict/machine/catalogue.h"
#include "tests/simulator/jobs.h"

namespace reprise {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Refinement, FindsWhoIsAlike) {
  // Two groups of three; one member of the second is of another colour.
  const RoleGroups role{{{0, 1, 2}, {3, 4, 5}}, false};
  Refinement refined = RefineClasses({7, 7, 7, 7, 9, 7}, std::vector{role});
  EXPECT_THAT(refined.class_of, ElementsAre(0, 0, 0, 1, 2, 1));
  EXPECT_NE(refined.kind_of_group[0][0], refined.kind_of_group[0][1]);
  // In order, each place is a class, and equal groups are of one kind.
  refined = RefineClasses({7, 7, 7, 7, 7, 7}, std::vector{RoleGroups{role.groups, true}});
  EXPECT_THAT(refined.class_of, ElementsAre(0, 1, 2, 0, 1, 2));
  EXPECT_EQ(refined.kind_of_group[0][0], refined.kind_of_group[0][1]);
}

// A difference travels along a chain of pairs, one pair a round.
TEST(Refinement, GoesOnUntilItIsStable) {
  std::vector<RoleGroups> roles(2);
  constexpr std::int32_t kRanks = 16;
  for (std::int32_t rank = 0; rank + 1 < kRanks; ++rank) {
    roles[rank % 2].groups.push_back({rank, rank + 1});
  }
  std::vector<std::uint32_t> colours(kRanks);
  EXPECT_EQ(RefineClasses(colours, roles).classes, kRanks / 2U);  // mirrored
  colours[0] = 1;
  EXPECT_EQ(RefineClasses(colours, roles).classes, static_cast<std::uint32_t>(kRanks));
}

// (p − 1)/m of the ideal time is bubble: stages are equal, transfers free.
TEST(Classes, PipelineBubbleByHand) {
  constexpr std::int64_t kForward = 1'000'000;
  for (const std::int32_t stages : {1, 2, 4, 7}) {
    for (const std::int32_t micro_batches : {1, 4, 8}) {
      const Layout layout{.pp = stages, .micro_batches = micro_batches};
      std::vector<Graph> programs;
      for (std::int32_t p = 0; p < stages; ++p) {
        programs.push_back(Stage(layout, p, kForward, 0));
      }
      const ProgramSet set = SetOf(layout, programs);
      EXPECT_EQ(Simulate(set, {.machine = Ideal()}).step_ns(),
                3 * kForward * (micro_batches + stages - 1));
    }
  }
}

// Launches 5 us each, 8 us until a kernel starts: a row of short kernels is bound by the host.
TEST(Classes, LaunchesBindShortKernels) {
  MachineModel machine = Ideal();
  machine.host.launch_ns.value = 5'000;
  machine.device.launch_latency_ns.value = 8'000;
  Program program;
  for (int i = 0; i < 10; ++i) {
    program.Compute(1'000);
  }
  const std::vector<Graph> programs = [&] {
    std::vector<Graph> list;
    list.push_back(program.Build());
    return list;
  }();
  const ProgramSet set = SetOf({}, programs);
  EXPECT_EQ(Simulate(set, {.machine = machine}).step_ns(), 10 * 5'000 + 8'000 + 1'000);
  machine.host.launch_ns.value = 100;  // and long ones by the device
  EXPECT_EQ(Simulate(set, {.machine = machine}).step_ns(), 100 + 8'000 + 10 * 1'000);
}

TEST(Classes, ADataParallelJobHasOneClassForEachStage) {
  const Layout layout{.tp = 8, .pp = 4, .dp = 32, .micro_batches = 4};
  std::vector<Graph> programs;
  for (std::int32_t p = 0; p < layout.pp; ++p) {
    programs.push_back(Stage(layout, p, 1'000'000, 1 << 20));
  }
  const ClassSimulation simulation =
      Simulate(SetOf(layout, programs), {.machine = BuiltIn("h100-hgx")});
  ASSERT_EQ(simulation.classes.size(), 4U);
  for (const RankClassTimes& own : simulation.classes) {
    EXPECT_EQ(own.ranks, 8 * 32);
  }
}

TEST(Classes, FoldedIsUnfoldedToTheLastBit) {
  std::mt19937 random(7);
  const auto pick = [&random](std::initializer_list<std::int32_t> values) {
    return *(values.begin() + random() % values.size());
  };
  std::size_t most_ranks = 0;
  for (int round = 0; round < 60; ++round) {
    const Layout layout{pick({1, 2, 4, 8}), pick({1, 2, 3, 4, 8}), pick({1, 2, 5, 16, 32}),
                        pick({1, 2, 5})};
    const std::int32_t ranks = layout.tp * layout.pp * layout.dp;
    if (ranks > 1024) {
      continue;
    }
    most_ranks = std::max<std::size_t>(most_ranks, ranks);
    std::vector<Graph> programs;
    for (std::int32_t p = 0; p < layout.pp; ++p) {
      // Uneven stages.
      programs.push_back(
          Stage(layout, p, 1'000'000'000LL + 37'000'001LL * (random() % 5), 3 << 20));
    }
    const ProgramSet set = SetOf(layout, programs);
    // One adapter for each device, one for the node, and a third level.
    const char* const names[] = {"h100-hgx", "h100-study", "mi250-study"};
    ClassOptions options{.machine = BuiltIn(names[pick({0, 1, 2})])};
    options.machine.node.nodes.reset();
    const std::string inner = options.machine.links.front().name;
    const std::string what =
        options.machine.name + fmt::format(" tp {} pp {} dp {} m {}, round {}", layout.tp,
                                           layout.pp, layout.dp, layout.micro_batches, round);
    for (const bool slow_rank : {false, true}) {
      for (const bool slow_link : {false, true}) {
        options.slow_ranks.clear();
        options.slow_links.clear();
        if (slow_rank) {
          options.slow_ranks.push_back({static_cast<std::int32_t>(random() % ranks), 1.2});
        }
        if (slow_link) {
          options.slow_links.push_back({inner, static_cast<std::int64_t>(random() % ranks), 0.5});
        }
        // Each way in turn; with flows, kernels beside transfers are slower, too.
        const bool flow = (round + (slow_rank ? 1 : 0) + (slow_link ? 2 : 0)) % 2 == 0;
        options.network = flow ? NetworkModel::kFlow : NetworkModel::kAlphaBeta;
        options.machine.device.beside_memory.value = flow && round % 3 != 0 ? 0.8 : 1;
        options.fold = true;
        const ClassSimulation folded = Simulate(set, options);
        options.fold = false;
        const ClassSimulation unfolded = Simulate(set, options);
        ASSERT_EQ(unfolded.classes.size(), static_cast<std::size_t>(ranks));
        ExpectEqual(set, folded, unfolded,
                    what + (slow_rank ? ", slow rank" : "") + (slow_link ? ", slow link" : "") +
                        (flow ? ", flow" : ""));
        if (!slow_rank && !slow_link && !flow) {
          EXPECT_LE(folded.classes.size(), 3U * layout.pp + 8U) << what;
        }
      }
    }
  }
  EXPECT_GT(most_ranks, 500U);
}

TEST(Classes, RefusesWhatWouldWaitForEver) {
  const Layout layout{.pp = 2};
  const auto message = [&layout](Program first, Program second) {
    std::vector<Graph> programs;
    programs.push_back(first.Build());
    programs.push_back(second.Build());
    const Result<ClassSimulation> simulation =
        SimulateClasses(SetOf(layout, programs), {.machine = Ideal()});
    EXPECT_FALSE(simulation);
    return simulation ? "" : simulation.error().message;
  };
  Program sends;
  sends.Compute(1);
  sends.Send(1, 100);
  Program idle;
  idle.Compute(1);
  EXPECT_THAT(message(sends, idle), HasSubstr("no partner has the 0. transfer (send)"));
  Program receives;
  receives.Receive(0, 200);
  EXPECT_THAT(message(sends, receives), HasSubstr("send of 100 bytes"));
  Program beyond;
  beyond.Send(2, 100);
  EXPECT_THAT(message(beyond, idle), HasSubstr("position 2 of its group of role 'pp'"));
  Program stranger;
  stranger.Collective(CommKind::kAllReduce, "ep", 8);
  EXPECT_THAT(message(stranger, idle), HasSubstr("no groups of role 'ep'"));
  Program reduces;
  reduces.Collective(CommKind::kAllReduce, "pp", 8);
  Program gathers;
  gathers.Collective(CommKind::kAllGather, "pp", 8);
  EXPECT_THAT(message(reduces, gathers), HasSubstr("all_gather"));
}

}  // namespace
}  // namespace reprise
