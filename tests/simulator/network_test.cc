// Times of transfers by hand, and what must hold for any machine.
#include "predict/simulator/network.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "predict/machine/catalogue.h"

namespace reprise {
namespace {

using ::testing::HasSubstr;

constexpr double kMiB = 1 << 20;

std::vector<std::int32_t> Devices(std::int32_t first, std::int32_t count, std::int32_t stride = 1) {
  std::vector<std::int32_t> devices(static_cast<std::size_t>(count));
  for (std::int32_t i = 0; i < count; ++i) {
    devices[static_cast<std::size_t>(i)] = first + i * stride;
  }
  return devices;
}

MachineModel Load(const std::string& name, const std::vector<std::string>& set = {}) {
  const Result<MachineModel> machine = LoadMachine(name, set);
  EXPECT_TRUE(machine) << machine.error().message;
  return *machine;
}

Network Make(const MachineModel& machine, std::int64_t ranks, std::vector<SlowLink> slow = {}) {
  Result<Network> network = Network::Create(machine, ranks, slow);
  EXPECT_TRUE(network) << network.error().message;
  return *network;
}

// Nodes with NCCL's own numbers, for sums by hand.
MachineModel ByHand(const std::vector<std::string>& set = {},
                    const std::string& name = "h100-hgx") {
  MachineModel machine = Load(name, set);
  machine.collectives = Load("mi250-study").collectives;  // nothing is fitted
  LinkLevel& nvlink = machine.links[0];
  nvlink.efficiency.value = 1;
  nvlink.latency_ns.value = 3400;
  nvlink.short_latency_ns->value = 470;
  nvlink.in_switch.reset();
  nvlink.in_switch_latency_ns.reset();
  return machine;
}

// 450 GB/s one way, all of it; 3.4 us a step; 8.4 us to start.
TEST(Network, RingInANode) {
  const Network network = Make(ByHand(), 8);
  const GroupShape shape = network.ShapeOf(Devices(0, 8));
  const double bytes = 1024 * kMiB;
  const TransferTime reduce = network.TimeOf(CommKind::kAllReduce, bytes, shape);
  EXPECT_EQ(reduce.algorithm, TransferAlgorithm::kRing);
  EXPECT_FALSE(reduce.short_protocol);
  EXPECT_NEAR(static_cast<double>(reduce.ns), 8400 + 14 * 3400 + 1.75 * bytes / 450, 1);
  const TransferTime gather = network.TimeOf(CommKind::kAllGather, bytes, shape);
  EXPECT_NEAR(static_cast<double>(gather.ns), 8400 + 7 * 3400 + 0.875 * bytes / 450, 1);
  const TransferTime exchange = network.TimeOf(CommKind::kAllToAll, bytes, shape);
  EXPECT_NEAR(static_cast<double>(exchange.ns), 8400 + 3400 + 0.875 * bytes / 450, 1);
}

TEST(Network, ShortMessagesTakeTheShortProtocol) {
  const Network network = Make(ByHand(), 8);
  const TransferTime time = network.TimeOf(CommKind::kAllReduce, 8, network.ShapeOf(Devices(0, 8)));
  EXPECT_TRUE(time.short_protocol);
  EXPECT_NEAR(static_cast<double>(time.ns), 8400 + 14 * 470, 5);
}

// By hand: the short protocol starts in 5 us, exchanges in 12; a member's own share takes half as
// long as one that crosses a link; switches add at 60 % of 450 GB/s, after 40 us.
TEST(Network, NumbersThatAFitAdds) {
  MachineModel machine = ByHand();
  const auto number = [](double value) {
    return SourcedNumber{value, "1", NumberSource::kMeasured, "test"};
  };
  machine.collectives.short_start_ns = number(5'000);
  machine.collectives.exchange_start_ns = number(12'000);
  machine.collectives.exchange_short_part = number(0.125);
  machine.collectives.own_share = number(0.5);
  const GroupShape shape = Make(machine, 8).ShapeOf(Devices(0, 8));
  const auto time = [&](CommKind kind, double bytes, DType dtype = DType::kUnknown) {
    return Make(machine, 8).TimeOf(kind, bytes, shape, dtype);
  };
  const double large = 1024 * kMiB;
  const double own = 0.0625 * large / 450;
  EXPECT_NEAR(static_cast<double>(time(CommKind::kAllGather, large).ns),
              8400 + 7 * 3400 + own + 0.875 * large / 450, 1);
  EXPECT_NEAR(static_cast<double>(time(CommKind::kAllReduce, large).ns),
              8400 + 14 * 3400 + own + 1.75 * large / 450, 1);
  EXPECT_NEAR(static_cast<double>(time(CommKind::kAllToAll, large).ns),
              12'000 + 3400 + own + 0.875 * large / 450, 1);
  // A tree moves no shares, and a broadcast has none.
  EXPECT_NEAR(static_cast<double>(time(CommKind::kAllReduce, 0).ns), 5'000 + 14 * 470, 1);
  EXPECT_NEAR(static_cast<double>(time(CommKind::kAllToAll, 8192).ns),
              5'000 + 470 + (0.875 + 0.0625) * 8192 / (450 * 0.125), 1);
  machine.links[0].in_switch = number(0.6);
  machine.links[0].in_switch_latency_ns = number(40'000);
  const TransferTime added = time(CommKind::kAllReduce, large, DType::kBFloat16);
  EXPECT_EQ(added.algorithm, TransferAlgorithm::kInSwitch);
  EXPECT_NEAR(static_cast<double>(added.ns), 8400 + 40'000 + large / 270, 1);
  EXPECT_EQ(time(CommKind::kAllReduce, large, DType::kInt8).algorithm, TransferAlgorithm::kRing);
  EXPECT_EQ(time(CommKind::kAllReduce, 65536).algorithm, TransferAlgorithm::kRing);
  // Not over nodes.
  const Network two = Make(machine, 16);
  EXPECT_NE(two.TimeOf(CommKind::kAllReduce, large, two.ShapeOf(Devices(0, 16))).algorithm,
            TransferAlgorithm::kInSwitch);
}

// The ring of 64 on 8 nodes leaves a node on all of its eight adapters; that of 8 with one member
// a node has one of them, and seven others beside it.
TEST(Network, RingOverNodes) {
  const Network network = Make(ByHand({"links.infiniband.efficiency=1"}), 64);
  const double bytes = 8192 * kMiB;
  const TransferTime all =
      network.TimeOf(CommKind::kReduceScatter, bytes, network.ShapeOf(Devices(0, 64)));
  EXPECT_EQ(all.level, 1U);
  EXPECT_NEAR(static_cast<double>(all.ns), 8400 + 56 * 3400 + 7 * 9600 + 63.0 / 64 * bytes / 400,
              2);
  const TransferTime strided =
      network.TimeOf(CommKind::kReduceScatter, bytes, network.ShapeOf(Devices(3, 8, 8)));
  EXPECT_NEAR(static_cast<double>(strided.ns), 8400 + 7 * 9600 + 7.0 / 8 * bytes / 50, 2);
}

// One adapter of 12.5 GB/s for a node: eight strided groups share it, one that is alone does not.
TEST(Network, GroupsShareTheAdapterOfANode) {
  const Network network = Make(ByHand({"links.infiniband.efficiency=1"}, "h100-study"), 64);
  const double bytes = 1024 * kMiB;
  GroupShape shape = network.ShapeOf(Devices(3, 8, 8));
  EXPECT_EQ(shape.levels[1].sharers, 8);
  const TransferTime shared = network.TimeOf(CommKind::kAllGather, bytes, shape);
  EXPECT_NEAR(static_cast<double>(shared.ns), 8400 + 7 * 9600 + 0.875 * bytes / 12.5 * 8, 2);
  shape.levels[1].sharers = 1;
  const TransferTime alone = network.TimeOf(CommKind::kAllGather, bytes, shape);
  EXPECT_NEAR(static_cast<double>(alone.ns), 8400 + 7 * 9600 + 0.875 * bytes / 12.5, 2);
}

TEST(Network, PairsCrossTheLevelThatJoinsThem) {
  const std::vector<std::string> full = {"links.package.efficiency=1", "links.xgmi.efficiency=1",
                                         "links.infiniband.efficiency=1"};
  const Network network = Make(Load("mi250-study", full), 16);
  EXPECT_EQ(network.LevelOf(0, 1), 0U);
  EXPECT_EQ(network.LevelOf(1, 2), 1U);
  EXPECT_EQ(network.LevelOf(7, 8), 2U);
  const auto ns = [&network](std::int32_t a, std::int32_t b) {
    GroupShape shape = network.ShapeOf(std::vector<std::int32_t>{a, b});
    for (LevelShape& level : shape.levels) {
      level.sharers = 1;
    }
    return static_cast<double>(network.TimeOf(CommKind::kSend, 1e9, shape).ns);
  };
  EXPECT_NEAR(ns(0, 1), 8400 + 3400 + 1e9 / 200, 2);
  EXPECT_NEAR(ns(1, 2), 8400 + 3400 + 1e9 / 50, 2);
  EXPECT_NEAR(ns(7, 8), 8400 + 9600 + 1e9 / 12.5, 2);
}

TEST(Network, ASlowLinkSlowsWhatCrossesIt) {
  const MachineModel machine = Load("h100-hgx");
  const Network whole = Make(machine, 64);
  const Network slow = Make(machine, 64, {*ParseSlowLink("infiniband@3=0.5")});
  const double bytes = 1024 * kMiB;
  const auto ns = [bytes](const Network& network, const std::vector<std::int32_t>& devices) {
    return network.TimeOf(CommKind::kAllGather, bytes, network.ShapeOf(devices)).ns;
  };
  EXPECT_EQ(ns(slow, Devices(0, 16)), ns(whole, Devices(0, 16)));  // nodes 0 and 1
  EXPECT_GT(ns(slow, Devices(16, 16)), 1.9 * static_cast<double>(ns(whole, Devices(16, 16))));
  EXPECT_EQ(ns(slow, Devices(24, 8)), ns(whole, Devices(24, 8)));  // inside node 3
}

// All-reduce of float32 in one node of A100 (published with vTrain); none is in the machine's fit.
TEST(Network, LargeAllReducesAreNearThoseMeasured) {
  const Network network = Make(Load("a100-hgx"), 8);
  for (const auto& [members, mib, measured_ns] :
       {std::tuple(8, 1024.0, 8192800.0), std::tuple(4, 1024.0, 7259000.0),
        std::tuple(2, 1024.0, 5442800.0), std::tuple(2, 256.0, 1455800.0)}) {
    const auto ns = static_cast<double>(
        network.TimeOf(CommKind::kAllReduce, mib * kMiB, network.ShapeOf(Devices(0, members))).ns);
    EXPECT_NEAR(ns, measured_ns, 0.25 * measured_ns) << members << " of " << mib;
  }
}

constexpr CommKind kKinds[] = {CommKind::kAllReduce, CommKind::kReduce,        CommKind::kAllGather,
                               CommKind::kGather,    CommKind::kScatter,       CommKind::kBroadcast,
                               CommKind::kAllToAll,  CommKind::kReduceScatter, CommKind::kBarrier,
                               CommKind::kSend};

TEST(Networks, AllLinksAreEachOfThem) {
  const MachineModel machine = Load("h100-hgx", {});
  const Network all = Make(machine, 16, {SlowLink{"all", -1, 0.5}});
  const Network each =
      Make(machine, 16, {SlowLink{"nvlink", -1, 0.5}, SlowLink{"infiniband", -1, 0.5}});
  const Network whole = Make(machine, 16, {});
  for (std::size_t level = 0; level < machine.links.size(); ++level) {
    EXPECT_EQ(all.FactorOf(level, 1), 0.5);
    EXPECT_EQ(all.Capacity(level, 1), each.Capacity(level, 1));
    EXPECT_EQ(all.Capacity(level, 1), whole.Capacity(level, 1) / 2);
  }
  const Result<Network> domain = Network::Create(machine, 16, std::vector{SlowLink{"all", 1, 0.5}});
  ASSERT_FALSE(domain);
  EXPECT_THAT(domain.error().message, HasSubstr("infiniband@1=F"));
}

// More bytes never take less time; a link or protocol that is better in any number neither.
TEST(Network, IsMonotonic) {
  for (const std::string& name : MachineNames()) {
    const MachineModel machine = Load(name);
    const std::int64_t ranks =
        machine.DeviceLimit() == 0 ? 64 : std::min<std::int64_t>(32, machine.DeviceLimit());
    const Network before = Make(machine, ranks);
    for (const CommKind kind : kKinds) {
      for (const auto& devices : {Devices(0, 2), Devices(0, 8), Devices(0, 4, 8), Devices(5, 20)}) {
        const auto group =
            kind == CommKind::kSend ? std::vector{devices.front(), devices.back()} : devices;
        std::int64_t last_ns = 0;
        for (double bytes = 0; bytes < 1e10; bytes = bytes * 3 + 7) {
          const std::int64_t ns = before.TimeOf(kind, bytes, before.ShapeOf(group)).ns;
          EXPECT_GE(ns, last_ns) << name << " " << Name(kind) << " " << bytes;
          EXPECT_GT(ns, 0);
          last_ns = ns;
        }
      }
    }
    for (const LinkLevel& link : machine.links) {
      const Network slow = Make(machine, ranks, {SlowLink{link.name, -1, 0.7}});
      for (const CommKind kind : kKinds) {
        for (const auto& devices : {Devices(0, 2), Devices(0, 8), Devices(5, 20)}) {
          const auto group =
              kind == CommKind::kSend ? std::vector{devices.front(), devices.back()} : devices;
          EXPECT_GE(slow.TimeOf(kind, 1e8, slow.ShapeOf(group)).ns,
                    before.TimeOf(kind, 1e8, before.ShapeOf(group)).ns)
              << name << " " << link.name << " " << Name(kind);
        }
      }
    }
  }
}

// Groups of 32 stay inside domains of 72 of which a job takes 64; one domain gives all 72.
TEST(Network, JobsOfSeveralDomainsTakeAsManyOfEach) {
  MachineModel machine = *LoadMachine("gb200-nvl72");
  const auto crosses = [&machine](std::int64_t ranks, std::int32_t first, std::int32_t count) {
    const Result<Network> network = Network::Create(machine, ranks);
    EXPECT_TRUE(network);
    std::vector<std::int32_t> group(static_cast<std::size_t>(count));
    std::iota(group.begin(), group.end(), first);
    return network->ShapeOf(group).levels.size() > 1;
  };
  EXPECT_FALSE(crosses(256, 64, 32));
  EXPECT_TRUE(crosses(256, 60, 8));
  EXPECT_FALSE(crosses(72, 64, 8));
  machine.links.front().job_devices.reset();
  EXPECT_TRUE(crosses(256, 64, 32));
}

TEST(Network, OneMemberTakesNothing) {
  const Network network = Make(Load("h100-hgx"), 8);
  EXPECT_EQ(network.TimeOf(CommKind::kAllReduce, 1e9, network.ShapeOf(Devices(3, 1))).ns, 0);
}

TEST(Network, RefusesWhatTheMachineLacks) {
  const MachineModel study = Load("h200-study");
  const Result<Network> many = Network::Create(study, 33);
  ASSERT_FALSE(many);
  EXPECT_EQ(many.error().kind, ErrorKind::kBadInput);
  EXPECT_THAT(many.error().message, HasSubstr("h200-study has 32 devices, and the job 33 ranks"));
  const Result<Network> link =
      Network::Create(study, 8, std::vector<SlowLink>{{"infinband", -1, 0.5}});
  ASSERT_FALSE(link);
  EXPECT_THAT(link.error().message, HasSubstr("did you mean infiniband?"));
  const Result<Network> domain =
      Network::Create(study, 8, std::vector<SlowLink>{{"infiniband", 1, 0.5}});
  ASSERT_FALSE(domain);
}

TEST(SlowLinks, AreParsed) {
  EXPECT_EQ(ParseSlowLink("nvlink=0.5")->domain, -1);
  EXPECT_EQ(ParseSlowLink("infiniband@12=0.25")->domain, 12);
  EXPECT_EQ(ParseSlowLink("infiniband@12=0.25")->factor, 0.25);
  for (const char* text : {"nvlink", "=0.5", "nvlink=", "nvlink=0", "nvlink=-1", "nvlink@x=1",
                           "nvlink@-1=1", "nvlink=1x", "nvlink=1@2"}) {
    EXPECT_FALSE(ParseSlowLink(text)) << text;
  }
}

}  // namespace
}  // namespace reprise
