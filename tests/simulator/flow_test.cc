// Transfers that share links while they run, and kernels beside transfers.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>

#include "predict/machine/catalogue.h"
#include "predict/simulator/event_schedule.h"
#include "predict/simulator/link_loads.h"
#include "tests/simulator/jobs.h"

namespace reprise {
namespace {

constexpr std::int64_t kMillion = 1'000'000;

std::vector<Graph> Built(std::initializer_list<const Program*> programs) {
  std::vector<Graph> graphs;
  for (const Program* const program : programs) {
    graphs.push_back(program->Build());
  }
  return graphs;
}

// Two groups' members, each a program of its own; group "pp" has all ranks.
ProgramSet OneGroup(const std::vector<Graph>& programs) {
  ProgramSet set;
  set.programs = programs;
  for (std::uint32_t rank = 0; rank < programs.size(); ++rank) {
    set.program_of.push_back(rank);
    set.groups["pp"].resize(1);
    set.groups["pp"][0].push_back(static_cast<std::int32_t>(rank));
  }
  return set;
}

std::int64_t StepOf(const ProgramSet& set, const MachineModel& machine, NetworkModel network) {
  ClassOptions options{.machine = machine};
  options.network = network;
  return Simulate(set, options).step_ns();
}

// Three senders in other nodes to one device: its adapter takes one message's time for each.
TEST(Flow, IncastTakesAsLongAsTheReceiversLink) {
  std::vector<Graph> programs;
  constexpr std::int32_t kRanks = 32;
  Program receiver;
  for (const std::int32_t sender : {8, 16, 24}) {
    receiver.Receive(sender, kMillion);
  }
  Program sender;
  sender.Send(0, kMillion);
  const Program idle;
  programs.reserve(kRanks);
  for (std::int32_t rank = 0; rank < kRanks; ++rank) {
    programs.push_back((rank == 0 ? receiver : rank % 8 == 0 ? sender : idle).Build());
  }
  const ProgramSet set = OneGroup(programs);
  EXPECT_EQ(StepOf(set, PlainMachine(), NetworkModel::kAlphaBeta), kMillion);
  EXPECT_EQ(StepOf(set, PlainMachine(), NetworkModel::kFlow), 3 * kMillion);
}

// A message of 1 MB, and half way through it another one out of the same device: 0.5 ms alone, then
// both at half rate until the first has its other half (1 ms), then the second alone (0.5 ms).
TEST(Flow, RatesChangeWhenTransfersComeAndGo) {
  Program first;
  first.Send(1, kMillion);
  first.Compute(kMillion / 2);
  first.Send(2, kMillion);
  Program near;
  near.Receive(0, kMillion);
  Program far;
  far.Receive(0, kMillion);
  const std::vector<Graph> programs = Built({&first, &near, &far});
  const ProgramSet set = OneGroup(programs);
  ClassOptions options{.machine = PlainMachine()};
  options.network = NetworkModel::kFlow;
  const ClassSimulation simulation = Simulate(set, options);
  EXPECT_EQ(simulation.step_ns(), 2 * kMillion);
  const auto last_of = [&](std::uint32_t rank) {
    const RankClassTimes& own = simulation.classes[simulation.class_of[rank]];
    return simulation.schedule.end_ns[own.first_node + programs[own.program].size() - 1];
  };
  EXPECT_EQ(last_of(1), kMillion / 2 + kMillion);
  EXPECT_EQ(last_of(2), 2 * kMillion);
  EXPECT_EQ(StepOf(set, PlainMachine(), NetworkModel::kAlphaBeta), kMillion / 2 + 2 * kMillion);
}

// The times that are left in the graph give the same schedule in a dry run.
TEST(Flow, TheDryRunOfTheNewTimesIsTheSchedule) {
  const Layout layout{.tp = 2, .pp = 4, .dp = 8, .micro_batches = 3};
  std::vector<Graph> programs;
  programs.reserve(layout.pp);
  for (std::int32_t p = 0; p < layout.pp; ++p) {
    programs.push_back(Stage(layout, p, 1'000'000'000 + 1000 * p, 8 << 20));
  }
  ClassOptions options{.machine = BuiltIn("h100-study")};
  options.network = NetworkModel::kFlow;
  options.machine.device.beside_memory.value = 0.7;
  const ClassSimulation simulation = Simulate(SetOf(layout, programs), options);
  const Result<Schedule> dry = DryRun(simulation.timing);
  ASSERT_TRUE(dry);
  EXPECT_EQ(dry->end_ns, simulation.schedule.end_ns);
}

// A pipeline with one rank a node, whose adapters nobody shares, and a node of one tensor group.
TEST(Flow, IsAlphaBetaWhereNothingIsShared) {
  for (const std::string& name : MachineNames()) {
    MachineModel machine = BuiltIn(name);
    machine.node.nodes.reset();
    const Layout tensor{.tp = 8, .micro_batches = 3};
    std::vector<Graph> programs;
    programs.push_back(Stage(tensor, 0, 1'000'000'000, 8 << 20));
    const ProgramSet set = SetOf(tensor, programs);
    EXPECT_EQ(StepOf(set, machine, NetworkModel::kFlow),
              StepOf(set, machine, NetworkModel::kAlphaBeta))
        << name;
    const Layout data{.dp = 16};
    std::vector<Graph> one;
    one.push_back(Stage(data, 0, 1'000'000'000, 8 << 20));
    const ProgramSet ring = SetOf(data, one);
    if (machine.DeviceLimit() == 0 || machine.DeviceLimit() >= 16) {
      EXPECT_EQ(StepOf(ring, machine, NetworkModel::kFlow),
                StepOf(ring, machine, NetworkModel::kAlphaBeta))
          << name;
    }
  }
}

// Eight strided rings over one adapter of a node: each has an eighth, as alpha-beta assumes.
TEST(Flow, EqualGroupsAtOneTimeShareAsAlphaBetaAssumes) {
  const Layout layout{.tp = 8, .dp = 4};
  Program program;
  program.Compute(kMillion);
  program.Collective(CommKind::kAllGather, "dp", 64 << 20);
  const std::vector<Graph> programs = Built({&program});
  const ProgramSet set = SetOf(layout, programs);
  const MachineModel machine = BuiltIn("h100-study");
  EXPECT_NEAR(static_cast<double>(StepOf(set, machine, NetworkModel::kFlow)),
              static_cast<double>(StepOf(set, machine, NetworkModel::kAlphaBeta)), 10);
}

// What a transfer of a schedule puts on links, edge by edge.
double EdgeBytes(const Network& network, const TransferOnLinks& transfer,
                 std::span<const std::int32_t> sorted, std::size_t level) {
  const auto n = static_cast<double>(sorted.size());
  double bytes = 0;
  const auto cross = [&](std::int32_t a, std::int32_t b, double carried) {
    const std::size_t joins = network.LevelOf(a, b);
    bytes += network.FirstCrossed(joins) <= level && level <= joins ? carried : 0;
  };
  const bool direct = transfer.algorithm == TransferAlgorithm::kDirect;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    for (std::size_t j = 0; direct && j < sorted.size(); ++j) {
      const std::int32_t root = transfer.devices[static_cast<std::size_t>(transfer.root)];
      const bool message = transfer.kind == CommKind::kAllToAll ? i != j
                           : transfer.kind == CommKind::kGather
                               ? sorted[i] != root && sorted[j] == root
                               : sorted[i] == root && sorted[j] != root;
      if (message) {
        cross(sorted[i], sorted[j], transfer.bytes / n);
      }
    }
    if (direct) {
      continue;
    }
    const bool tree = transfer.algorithm == TransferAlgorithm::kTree;
    const bool chain =
        tree || transfer.kind == CommKind::kBroadcast || transfer.kind == CommKind::kReduce;
    if (chain && i + 1 == sorted.size()) {
      continue;
    }
    const double carried = tree    ? 2 * transfer.bytes
                           : chain ? transfer.bytes
                           : transfer.kind == CommKind::kAllReduce
                               ? 2 * (n - 1) / n * transfer.bytes
                               : (n - 1) / n * transfer.bytes;
    cross(sorted[i], sorted[(i + 1) % sorted.size()], carried);
  }
  return bytes;
}

// Out of all domains goes what comes into the others, and it is what the edges carry.
TEST(LinkLoads, EveryByteCrossesItsLinksOnce) {
  std::mt19937 random(3);
  const std::pair<CommKind, TransferAlgorithm> schedules[] = {
      {CommKind::kAllReduce, TransferAlgorithm::kRing},
      {CommKind::kAllReduce, TransferAlgorithm::kTree},
      {CommKind::kAllGather, TransferAlgorithm::kRing},
      {CommKind::kReduceScatter, TransferAlgorithm::kRing},
      {CommKind::kBroadcast, TransferAlgorithm::kRing},
      {CommKind::kReduce, TransferAlgorithm::kRing},
      {CommKind::kAllToAll, TransferAlgorithm::kDirect},
      {CommKind::kGather, TransferAlgorithm::kDirect},
      {CommKind::kScatter, TransferAlgorithm::kDirect},
  };
  for (const std::string& name : MachineNames()) {
    MachineModel machine = BuiltIn(name);
    machine.node.nodes.reset();
    const std::int64_t limit = machine.DeviceLimit();
    const auto ranks =
        static_cast<std::int32_t>(limit == 0 ? 64 : std::min<std::int64_t>(64, limit));
    const Network network = *Network::Create(machine, ranks);
    for (int round = 0; round < 40; ++round) {
      std::vector<std::int32_t> sorted;
      for (std::int32_t device = 0; device < ranks; ++device) {
        if (random() % (1 + round % 5) == 0) {
          sorted.push_back(device);
        }
      }
      if (sorted.size() < 2) {
        continue;
      }
      std::vector<std::int32_t> devices = sorted;
      std::shuffle(devices.begin(), devices.end(), random);
      for (const auto& [kind, algorithm] : schedules) {
        const TransferOnLinks transfer{kind, algorithm, 1e6, devices,
                                       static_cast<std::int64_t>(random() % devices.size())};
        std::map<std::pair<std::uint32_t, bool>, double> bytes;  // by level and direction
        for (const LinkLoad& load : LoadsOf(network, transfer)) {
          EXPECT_GT(load.bytes, 0);
          bytes[{load.link.level, load.link.inward}] += load.bytes;
        }
        for (std::uint32_t level = 0; level < network.levels(); ++level) {
          const double expected = EdgeBytes(network, transfer, sorted, level);
          for (const bool inward : {false, true}) {
            ASSERT_NEAR((bytes[{level, inward}]), expected, 1e-6 * (1 + expected))
                << name << " " << Name(kind) << " " << Name(algorithm) << " level " << level;
          }
        }
      }
      // A pair, each end once.
      const std::vector<std::int32_t> pair = {devices.front(), devices.back()};
      const std::size_t joins = network.LevelOf(pair[0], pair[1]);
      std::size_t links = 0;
      for (const LinkLoad& load :
           LoadsOf(network, {CommKind::kSend, TransferAlgorithm::kDirect, 7, pair})) {
        EXPECT_EQ(load.bytes, 7);
        ++links;
      }
      EXPECT_EQ(links, 2 * (joins - network.FirstCrossed(joins) + 1));
    }
  }
}

// Alpha-beta moves the same bytes: it takes as long as the link with most to carry.
TEST(LinkLoads, AreWhatAlphaBetaTakesTimeFor) {
  for (const std::string& name : MachineNames()) {
    MachineModel machine = BuiltIn(name);
    machine.node.nodes.reset();
    const std::int64_t limit = machine.DeviceLimit();
    const auto ranks =
        static_cast<std::int32_t>(limit == 0 ? 64 : std::min<std::int64_t>(64, limit));
    const Network network = *Network::Create(machine, ranks);
    int bound_by_top = 0;
    for (const std::int32_t stride : {1, 2, 4, 8}) {
      std::vector<std::int32_t> devices;
      for (std::int32_t device = 0; device < ranks; device += stride) {
        devices.push_back(device);
      }
      for (const CommKind kind : {CommKind::kAllReduce, CommKind::kAllGather,
                                  CommKind::kReduceScatter, CommKind::kAllToAll, CommKind::kSend}) {
        if (kind == CommKind::kSend) {
          devices = {devices.front(), devices.back()};
        }
        if (devices.size() < 2 || devices.front() == devices.back()) {
          continue;
        }
        GroupShape shape = network.ShapeOf(devices);
        for (LevelShape& level : shape.levels) {
          level.sharers = 1;
        }
        constexpr double kBytes = 1e11;
        const TransferTime time = network.TimeOf(kind, kBytes, shape);
        if (time.algorithm == TransferAlgorithm::kTree) {
          continue;  // its first chunk takes longer
        }
        if (time.algorithm == TransferAlgorithm::kInSwitch) {
          for (const LinkLoad& load : LoadsOf(network, {kind, time.algorithm, kBytes, devices})) {
            EXPECT_EQ(load.bytes, kBytes);  // the switches add more slowly than links carry
          }
          continue;
        }
        double longest_ns = 0;
        for (const LinkLoad& load : LoadsOf(network, {kind, time.algorithm, kBytes, devices})) {
          longest_ns = std::max(longest_ns, load.bytes / CapacityOf(network, load.link) * 1e9);
        }
        EXPECT_LE(longest_ns, time.data_ns * (1 + 1e-9)) << name << " " << Name(kind);
        if (time.level + 1 == shape.levels.size()) {
          EXPECT_NEAR(longest_ns, time.data_ns, 1e-9 * longest_ns) << name << " " << Name(kind);
          ++bound_by_top;
        }
      }
    }
    EXPECT_GT(bound_by_top, 4) << name;
  }
}

// By hand: half of the memory's bandwidth is left, a kernel of 1 ms, and beside it a transfer of
// 0.4 ms that begins with it: 0.2 ms of the kernel are done when the transfer ends.
TEST(BesideTransfers, KernelsAreSlowerWhileATransferMoves) {
  MachineModel machine = PlainMachine();
  machine.device.memory_bytes_per_second.value = 1e9;
  machine.device.memory_efficiency.value = 1;
  machine.device.vector_flops_per_second[static_cast<int>(RateFormat::kFloat32)]->value = 1e15;
  Program sender;
  sender.Send(1, 4 * kMillion / 10);
  sender.Compute(100 * kMillion);  // 1e6 bytes
  Program receiver;
  receiver.Receive(0, 4 * kMillion / 10);
  const std::vector<Graph> programs = Built({&sender, &receiver});
  const ProgramSet set = OneGroup(programs);
  for (const NetworkModel network : {NetworkModel::kAlphaBeta, NetworkModel::kFlow}) {
    machine.device.beside_memory.value = 1;
    EXPECT_EQ(StepOf(set, machine, network), kMillion);
    machine.device.beside_compute.value = 0.5;
    EXPECT_EQ(StepOf(set, machine, network), kMillion);  // the memory bounds it
    machine.device.beside_memory.value = 0.5;
    EXPECT_EQ(StepOf(set, machine, network), kMillion + 2 * kMillion / 10);
    machine.device.beside_compute.value = 1;
  }
}

// Random chains and fork-joins of kernels and transfers on ranks of nodes of their own, so that no
// two transfers share a link: what is faster never lengthens the step.
TEST(Flow, FasterIsNeverSlower) {
  std::mt19937 random(5);
  for (int round = 0; round < 60; ++round) {
    const auto ranks = static_cast<std::int32_t>(2 + random() % 7);
    std::vector<Program> drafts(static_cast<std::size_t>(ranks));
    const auto size = [&random] { return static_cast<std::int64_t>(random() % (64 * kMillion)); };
    const auto compute = [&](Program& program) { program.Compute(1000 * size()); };
    const int stages = 1 + static_cast<int>(random() % 4);
    for (int stage = 0; stage < stages; ++stage) {
      const std::int64_t bytes = size();
      if (random() % 2 == 0) {  // a chain through all ranks, one link after the other
        for (std::int32_t rank = 0; rank < ranks; ++rank) {
          Program& program = drafts[static_cast<std::size_t>(rank)];
          if (rank > 0) {
            program.Receive(rank - 1, bytes);
          }
          compute(program);
          if (rank + 1 < ranks) {
            program.Send(rank + 1, bytes);
          }
        }
      } else {  // all at once, and then together
        constexpr CommKind kKinds[] = {CommKind::kAllReduce, CommKind::kAllGather,
                                       CommKind::kReduceScatter, CommKind::kAllToAll};
        const CommKind kind = kKinds[random() % 4];
        for (Program& program : drafts) {
          compute(program);
          program.Collective(kind, "pp", bytes);
        }
      }
    }
    std::vector<Graph> programs;
    for (Program& program : drafts) {
      compute(program);
      programs.push_back(program.Build());
    }
    const ProgramSet set = OneGroup(programs);
    MachineModel machine = BuiltIn(round % 2 == 0 ? "h100-study" : "h100-hgx");
    machine.node.devices.value = 1;
    machine.links.erase(machine.links.begin());
    const NetworkModel network = round % 3 == 0 ? NetworkModel::kAlphaBeta : NetworkModel::kFlow;
    const std::int64_t before_ns = StepOf(set, machine, network);
    const double factor = 1.05 + 0.01 * static_cast<double>(random() % 300);
    MachineModel memory = machine;
    memory.device.memory_bytes_per_second.value *= factor;
    EXPECT_LE(StepOf(set, memory, network), before_ns) << round;
    MachineModel rates = machine;
    for (OptionalNumber& rate : rates.device.vector_flops_per_second) {
      rate ? rate->value *= factor : 0;
    }
    EXPECT_LE(StepOf(set, rates, network), before_ns) << round;
    MachineModel latency = machine;
    latency.links[0].latency_ns.value /= factor;
    EXPECT_LE(StepOf(set, latency, network), before_ns) << round;
    MachineModel link = machine;
    link.links[0].bytes_per_second->value *= factor;
    EXPECT_LE(StepOf(set, link, network), before_ns) << round;
    MachineModel all = link;
    all.device = rates.device;
    all.device.memory_bytes_per_second = memory.device.memory_bytes_per_second;
    EXPECT_LT(StepOf(set, all, network), before_ns) << round;
    ClassOptions slow{.machine = machine, .slow_ranks = {{ranks - 1, factor}}};
    slow.network = network;
    EXPECT_GE(Simulate(set, slow).step_ns(), before_ns) << round;
  }
}

// With nothing slowed, the event engine is the dry run.
TEST(Events, AreTheDryRunWhereNothingIsSlowed) {
  std::mt19937 random(11);
  for (int round = 0; round < 20; ++round) {
    const Layout layout{1 + static_cast<std::int32_t>(random() % 2), 2, 3, 2};
    const auto bytes = static_cast<std::int64_t>(random() % kMillion);
    std::vector<Graph> programs;
    programs.reserve(layout.pp);
    for (std::int32_t p = 0; p < layout.pp; ++p) {
      programs.push_back(Stage(layout, p, 1'000'000 + random() % 1000, bytes));
    }
    const ClassSimulation plain =
        Simulate(SetOf(layout, programs), {.machine = BuiltIn("a100-hgx"), .fold = false});
    TimingGraph timing = plain.timing;
    // Also where a recording contradicts causality.
    for (std::int64_t& delay_ns : timing.delay_ns) {
      delay_ns = static_cast<std::int64_t>(random() % 2000) - 1000;
    }
    const Result<Schedule> dry = DryRun(timing);
    const Result<Schedule> events = ScheduleEvents(timing, {});
    ASSERT_TRUE(dry && events);
    EXPECT_EQ(events->start_ns, dry->start_ns);
    EXPECT_EQ(events->end_ns, dry->end_ns);
    EXPECT_EQ(events->makespan_ns, dry->makespan_ns);
  }
}

}  // namespace
}  // namespace reprise
