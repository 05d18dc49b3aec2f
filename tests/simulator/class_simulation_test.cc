// Classes of equal ranks: found, simulated once, and the same to the last bit as rank by rank.
#include "simulator/class_simulation.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "machine/catalogue.h"

namespace reprise {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// One rank's program: a thread that launches, a compute stream, and a stream for each kind of
// transfer.
class Program {
 public:
  void Compute(std::int64_t flops, OpClass op_class = OpClass::kElementwise) {
    Node node = OnStream(7, "kernel");
    node.op_class = op_class;
    node.num_ops = flops;
    node.tensor_bytes = flops / 100;
    Add(std::move(node), 7);
  }
  // Starts after the compute stream's work so far; the compute stream goes on after it.
  void Collective(CommKind kind, const std::string& role, std::int64_t bytes) {
    CommSpec spec;
    spec.kind = kind;
    spec.group = role;
    spec.in_bytes = spec.out_bytes = bytes;
    spec.index = next_[role]++;
    Transfer(spec, 20);
    waits_.push_back(last_.at(20));
  }
  void Send(std::int32_t to, std::int64_t bytes) { Pair(CommKind::kSend, to, bytes); }
  void Receive(std::int32_t from, std::int64_t bytes) {
    Pair(CommKind::kRecv, from, bytes);
    waits_.push_back(last_.at(22 + from));
  }

  [[nodiscard]] Graph Build() const {
    Result<Graph> graph = Graph::Build(TraceMetadata{}, nodes_);
    EXPECT_TRUE(graph) << graph.error().message;
    return std::move(*graph);
  }

 private:
  void Pair(CommKind kind, std::int32_t peer, std::int64_t bytes) {
    CommSpec spec;
    spec.kind = kind;
    spec.group = "pp";
    spec.peer = peer;
    spec.in_bytes = kind == CommKind::kSend ? bytes : 0;
    spec.out_bytes = kind == CommKind::kRecv ? bytes : 0;
    spec.index = next_[std::string(Name(kind)) + std::to_string(peer)]++;
    Transfer(spec, (kind == CommKind::kSend ? 40 : 22) + peer);
  }
  void Transfer(const CommSpec& spec, std::int64_t stream) {
    Node node = OnStream(stream, "transfer");
    node.kind = OpKind::kComm;
    node.op_class = OpClass::kComm;
    node.comm = spec;
    node.type = spec.kind == CommKind::kSend   ? NodeType::kCommSend
                : spec.kind == CommKind::kRecv ? NodeType::kCommRecv
                                               : NodeType::kCommColl;
    if (spec.kind != CommKind::kRecv && last_.contains(7)) {
      node.deps.push_back({last_.at(7), EdgeReason::kEvent});
    }
    Add(std::move(node), stream);
  }
  Node OnStream(std::int64_t stream, const std::string& name) {
    Node launch;
    launch.id = ++id_;
    launch.name = "launch";
    launch.type = NodeType::kComp;
    launch.kind = OpKind::kMetadata;
    launch.start_ns = static_cast<std::int64_t>(id_);
    if (last_.contains(-1)) {
      launch.deps.push_back({last_.at(-1), EdgeReason::kThread});
    }
    last_[-1] = launch.id;
    nodes_.push_back(launch);
    Node node;
    node.id = ++id_;
    node.name = name;
    node.type = NodeType::kComp;
    node.start_ns = static_cast<std::int64_t>(id_);
    node.actor = {Actor::Kind::kStream, stream, 0};
    node.deps.push_back({launch.id, EdgeReason::kLaunch});
    if (last_.contains(stream)) {
      node.deps.push_back({last_.at(stream), EdgeReason::kStream});
    }
    return node;
  }
  void Add(Node node, std::int64_t stream) {
    if (stream == 7) {
      for (const std::uint64_t wait : waits_) {
        node.deps.push_back({wait, EdgeReason::kEvent});
      }
      waits_.clear();
    }
    last_[stream] = node.id;
    nodes_.push_back(std::move(node));
  }

  std::uint64_t id_ = 0;
  std::vector<Node> nodes_;
  std::map<std::int64_t, std::uint64_t> last_;  // by stream; −1: the thread
  std::vector<std::uint64_t> waits_;
  std::map<std::string, std::int64_t> next_;
};

struct Layout {
  std::int32_t tp = 1, pp = 1, dp = 1, micro_batches = 1;
};

// Rank = (dp · PP + pp) · TP + tp.
ProgramSet SetOf(const Layout& layout, const std::vector<Graph>& programs) {
  ProgramSet set;
  set.programs = programs;
  const auto rank = [&layout](std::int32_t d, std::int32_t p, std::int32_t t) {
    return (d * layout.pp + p) * layout.tp + t;
  };
  auto& tp = set.groups["tp"];
  auto& pp = set.groups["pp"];
  auto& dp = set.groups["dp"];
  for (std::int32_t d = 0; d < layout.dp; ++d) {
    for (std::int32_t p = 0; p < layout.pp; ++p) {
      tp.emplace_back();
      for (std::int32_t t = 0; t < layout.tp; ++t) {
        tp.back().push_back(rank(d, p, t));
        set.program_of.push_back(static_cast<std::uint32_t>(p));
      }
    }
  }
  for (std::int32_t t = 0; t < layout.tp; ++t) {
    for (std::int32_t d = 0; d < layout.dp; ++d) {
      pp.emplace_back();
      for (std::int32_t p = 0; p < layout.pp; ++p) {
        pp.back().push_back(rank(d, p, t));
      }
    }
    for (std::int32_t p = 0; p < layout.pp; ++p) {
      dp.emplace_back();
      for (std::int32_t d = 0; d < layout.dp; ++d) {
        dp.back().push_back(rank(d, p, t));
      }
    }
  }
  return set;
}

// GPipe: all forward passes, then all backward passes, which take twice as long.
Graph Stage(const Layout& layout, std::int32_t stage, std::int64_t flops, std::int64_t bytes) {
  Program program;
  const bool first = stage == 0;
  const bool last = stage + 1 == layout.pp;
  for (std::int32_t m = 0; m < layout.micro_batches; ++m) {
    if (!first) {
      program.Receive(stage - 1, bytes);
    }
    program.Compute(flops);
    if (layout.tp > 1) {
      program.Collective(CommKind::kAllReduce, "tp", bytes);
    }
    if (!last) {
      program.Compute(0);
      program.Send(stage + 1, bytes);
    }
  }
  for (std::int32_t m = 0; m < layout.micro_batches; ++m) {
    if (!last) {
      program.Receive(stage + 1, bytes);
    }
    program.Compute(2 * flops);
    if (!first) {
      program.Send(stage - 1, bytes);
    }
  }
  if (layout.dp > 1) {
    program.Collective(CommKind::kAllReduce, "dp", 8 * bytes);
    program.Compute(flops / 7);
  }
  return program.Build();
}

MachineModel BuiltIn(const std::string& name) { return *LoadMachine(name); }

// Every float32 operation takes as many ns as it has FLOPs, and nothing else takes time.
MachineModel Ideal() {
  MachineModel machine = BuiltIn("h100-hgx");
  machine.device.vector_flops_per_second[static_cast<int>(RateFormat::kFloat32)]->value = 1e9;
  machine.device.kernel_least_ns.value = machine.device.launch_latency_ns.value = 0;
  machine.host.launch_ns.value = machine.collectives.start_ns.value = 0;
  for (LinkLevel& link : machine.links) {
    link.latency_ns.value = link.short_latency_ns->value = 0;
  }
  return machine;
}

ClassSimulation Simulate(const ProgramSet& set, const ClassOptions& options) {
  Result<ClassSimulation> simulation = SimulateClasses(set, options);
  EXPECT_TRUE(simulation) << simulation.error().message;
  return simulation ? std::move(*simulation) : ClassSimulation{};
}

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

// What each rank does, node by node, must be the same.
void ExpectEqual(const ProgramSet& set, const ClassSimulation& folded,
                 const ClassSimulation& unfolded, const std::string& what) {
  ASSERT_EQ(folded.step_ns(), unfolded.step_ns()) << what;
  for (std::size_t rank = 0; rank < set.program_of.size(); ++rank) {
    const RankClassTimes& of_class = folded.classes[folded.class_of[rank]];
    const RankClassTimes& own = unfolded.classes[unfolded.class_of[rank]];
    for (std::uint32_t i = 0; i < set.programs[set.program_of[rank]].size(); ++i) {
      ASSERT_EQ(folded.schedule.start_ns[of_class.first_node + i],
                unfolded.schedule.start_ns[own.first_node + i])
          << what << ", rank " << rank << ", node " << i;
      ASSERT_EQ(folded.schedule.end_ns[of_class.first_node + i],
                unfolded.schedule.end_ns[own.first_node + i])
          << what << ", rank " << rank << ", node " << i;
    }
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
    ClassOptions options{.machine = BuiltIn(pick({0, 1}) == 0 ? "h100-hgx" : "a100-hgx")};
    const std::string what = fmt::format("tp {} pp {} dp {} m {}, round {}", layout.tp, layout.pp,
                                         layout.dp, layout.micro_batches, round);
    for (const bool slow_rank : {false, true}) {
      for (const bool slow_link : {false, true}) {
        options.slow_ranks.clear();
        options.slow_links.clear();
        if (slow_rank) {
          options.slow_ranks.push_back({static_cast<std::int32_t>(random() % ranks), 1.2});
        }
        if (slow_link) {
          options.slow_links.push_back(
              {"nvlink", static_cast<std::int64_t>(random() % ranks), 0.5});
        }
        options.fold = true;
        const ClassSimulation folded = Simulate(set, options);
        options.fold = false;
        const ClassSimulation unfolded = Simulate(set, options);
        ASSERT_EQ(unfolded.classes.size(), static_cast<std::size_t>(ranks));
        ExpectEqual(set, folded, unfolded, what);
        if (!slow_rank && !slow_link) {
          EXPECT_LE(folded.classes.size(), 3U * layout.pp + 8U) << what;
        }
      }
    }
  }
  EXPECT_GT(most_ranks, 500U);
}

// On chains and fork-joins without shared links, what is faster never lengthens the step.
TEST(Classes, FasterIsNeverSlower) {
  const Layout layout{.tp = 2, .pp = 4, .dp = 2, .micro_batches = 3};
  std::vector<Graph> programs;
  for (std::int32_t p = 0; p < layout.pp; ++p) {
    programs.push_back(Stage(layout, p, 1'000'000'000, 8 << 20));
  }
  const ProgramSet set = SetOf(layout, programs);
  const MachineModel machine = BuiltIn("h100-hgx");
  const std::int64_t before_ns = Simulate(set, {.machine = machine}).step_ns();
  MachineModel device = machine;
  device.device.memory_bytes_per_second.value *= 2;
  device.device.vector_flops_per_second[static_cast<int>(RateFormat::kFloat32)]->value *= 2;
  EXPECT_LT(Simulate(set, {.machine = device}).step_ns(), before_ns);
  for (std::size_t level = 0; level < machine.links.size(); ++level) {
    MachineModel link = machine;
    link.links[level].bytes_per_second->value *= 2;
    link.links[level].latency_ns.value /= 2;
    EXPECT_LE(Simulate(set, {.machine = link}).step_ns(), before_ns);
  }
  EXPECT_GT(Simulate(set, {.machine = machine, .slow_ranks = {{3, 1.5}}}).step_ns(), before_ns);
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
