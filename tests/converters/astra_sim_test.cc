// Sets exported for ASTRA-sim.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <numeric>

#include "converters/astra_sim/export.h"
#include "et_schema/astra_sim_checks.h"
#include "et_schema/io.h"
#include "et_schema/trace_set.h"
#include "tests/et_schema/scratch_directory.h"
#include "tests/et_schema/trace_files.h"

namespace reprise::astra_sim {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::int64_t kUs = 1000;

class ExportedSet : public ::testing::Test {
 protected:
  Node& Add(std::size_t rank, std::int64_t start_us, std::int64_t duration_us,
            const std::vector<std::uint64_t>& deps = {}) {
    std::vector<Node>& nodes = ranks_.at(rank);
    nodes.push_back(MakeNode(nodes.size() + 1, start_us * kUs, deps));
    Node& node = nodes.back();
    node.duration_ns = duration_us * kUs;
    node.delay_ns = node.start_ns;
    for (const std::uint64_t dep : deps) {
      const Node& before = nodes[dep - 1];
      node.delay_ns = std::min(node.delay_ns, node.start_ns - before.start_ns - before.duration_ns);
    }
    return node;
  }
  Node& AddTransfer(std::size_t rank, std::int64_t start_us, CommKind kind, std::int64_t bytes,
                    const std::string& group = "0", const std::vector<std::uint64_t>& deps = {}) {
    Node& node = Add(rank, start_us, 5, deps);
    node.name = "c10d::" + std::string(Name(kind));
    node.type = kind == CommKind::kSend   ? NodeType::kCommSend
                : kind == CommKind::kRecv ? NodeType::kCommRecv
                                          : NodeType::kCommColl;
    node.kind = OpKind::kComm;
    node.actor = {.kind = Actor::Kind::kGroup};
    node.comm = CommSpec{.kind = kind, .group = group, .in_bytes = bytes, .out_bytes = bytes};
    node.comm->root = 0;
    node.comm->index = next_[{rank, group}]++;
    return node;
  }
  Result<Report> Export(Request request = {}) {
    std::filesystem::remove_all(scratch_.File("in"));
    std::filesystem::create_directories(scratch_.File("in"));
    std::filesystem::remove_all(scratch_.File("out"));
    ProcessGroup world{.id = "0"};
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      const TraceMetadata metadata{.rank = static_cast<std::int32_t>(rank),
                                   .world_size = static_cast<std::int32_t>(ranks_.size())};
      world.ranks.push_back(metadata.rank);
      EXPECT_TRUE(WriteTrace(scratch_.File("in/x." + std::to_string(rank) + ".et"), ranks_[rank],
                             metadata));
    }
    EXPECT_TRUE(WriteGroups(scratch_.File("in"), {{"0", world}, {"1", {"1", "", world.ranks}}}));
    request.output_directory = scratch_.File("out");
    if (request.machine.dimensions.empty()) {
      request.machine.dimensions = {{Topology::kRing, world.ranks.back() + 1, 50, 500}};
    }
    REPRISE_ASSIGN(const Ranks ranks, LoadRanks(scratch_.File("in")));
    return astra_sim::Export(ranks, request);
  }
  std::vector<Node> Exported(int rank) {
    auto nodes = ReadTrace(scratch_.File("out/x." + std::to_string(rank) + ".et"));
    EXPECT_TRUE(nodes);
    return *nodes;
  }
  std::vector<std::string> Errors() {
    const auto set = TraceSet::Open(scratch_.File("out"));
    EXPECT_TRUE(set);
    return CheckForAstraSim(*set)->errors;
  }
  static const Node* Find(const std::vector<Node>& nodes, const std::string& name) {
    const auto it = std::find_if(nodes.begin(), nodes.end(),
                                 [&](const Node& node) { return node.name == name; });
    return it == nodes.end() ? nullptr : &*it;
  }
  static bool WaitsFor(const Node& node, const Node& other) {
    return std::any_of(node.deps.begin(), node.deps.end(),
                       [&](const Dependency& dep) { return dep.node_id == other.id; });
  }

  ScratchDirectory scratch_;
  std::vector<std::vector<Node>> ranks_{2};
  std::map<std::pair<std::size_t, std::string>, std::int64_t> next_;
};

// Whole microseconds of many short nodes add up to what they took together, gaps too.
TEST_F(ExportedSet, RoundingDoesNotAddUp) {
  for (std::uint64_t i = 1; i <= 1000; ++i) {
    Node& node =
        Add(0, 0, 0, i > 1 ? std::vector<std::uint64_t>{i - 1} : std::vector<std::uint64_t>());
    node.duration_ns = 300;
    node.delay_ns = 150;
  }
  Add(1, 0, 1);
  const auto report = Export({.mode = Mode::kReplay});
  ASSERT_TRUE(report) << report.error().message;
  std::int64_t total_ns = 0;
  for (const Node& node : Exported(0)) {
    EXPECT_EQ(node.duration_ns % kUs, 0);
    EXPECT_EQ(node.delay_ns, 0);
    total_ns += node.duration_ns;
  }
  EXPECT_EQ(total_ns, 450 * kUs) << "1,000 × (300 + 150) ns, from the first node's start";
}

// Recorded in another order on each rank, which would be a circle where one transfer is done at a
// time.
TEST_F(ExportedSet, AllRanksDoTransfersInOneOrder) {
  for (const std::size_t rank : {0U, 1U}) {
    const std::int64_t first = rank == 0 ? 10 : 20;
    AddTransfer(rank, first, CommKind::kAllReduce, 64, "0").name = "a";
    AddTransfer(rank, 30 - first, CommKind::kAllReduce, 64, "1").name = "b";
  }
  ASSERT_TRUE(Export());
  std::vector<bool> a_first;
  for (const int rank : {0, 1}) {
    const std::vector<Node> nodes = Exported(rank);
    a_first.push_back(WaitsFor(*Find(nodes, "b"), *Find(nodes, "a")));
    EXPECT_NE(WaitsFor(*Find(nodes, "a"), *Find(nodes, "b")), a_first.back());
  }
  EXPECT_EQ(a_first[0], a_first[1]);
  EXPECT_THAT(Errors(), IsEmpty());
}

TEST_F(ExportedSet, ACircleIsAnError) {
  for (const std::size_t rank : {0U, 1U}) {
    AddTransfer(rank, 0, CommKind::kAllReduce, 64, rank == 0 ? "0" : "1");
    AddTransfer(rank, 10, CommKind::kAllReduce, 64, rank == 0 ? "1" : "0", {1});
  }
  const auto report = Export();
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().kind, ErrorKind::kBadInput);
  EXPECT_THAT(report.error().message, HasSubstr("rank 1: node 1"));
  EXPECT_FALSE(std::filesystem::exists(scratch_.File("out")));
  EXPECT_TRUE(Export({.mode = Mode::kReplay})) << "nothing waits for another rank there";
}

TEST_F(ExportedSet, KindsThatItLacksAreReplaced) {
  for (const std::size_t rank : {0U, 1U}) {
    AddTransfer(rank, 0, CommKind::kBarrier, 0);
    AddTransfer(rank, 10, CommKind::kBroadcast, 33);
    AddTransfer(rank, 20, CommKind::kAllGather, 1).comm->out_bytes = 2;
    Node& message = AddTransfer(rank, 30, rank == 0 ? CommKind::kSend : CommKind::kRecv, 0, "p");
    message.comm->peer = 1 - static_cast<std::int32_t>(rank);
  }
  const auto report = Export();
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->replaced.at("barrier as all_reduce"), 1U);
  const std::vector<Node> nodes = Exported(1);
  EXPECT_EQ(Find(nodes, "c10d::barrier")->comm->kind, CommKind::kAllReduce);
  const CommSpec& broadcast = *Find(nodes, "c10d::broadcast")->comm;
  EXPECT_EQ(broadcast.kind, CommKind::kAllGather);
  EXPECT_EQ(broadcast.in_bytes, 17) << "half of 33 bytes from each";
  EXPECT_THAT(Errors(), IsEmpty()) << "also of the all_gather of one byte";
}

// A gap before a transfer is waited for where the rank has nothing else to do in it.
TEST_F(ExportedSet, GapsBeforeTransfers) {
  for (const std::size_t rank : {0U, 1U}) {
    Add(rank, 0, 10);
    AddTransfer(rank, 30, CommKind::kAllReduce, 64, "0", {1});
    if (rank == 1) {
      Add(rank, 15, 10, {1});  // within the gap
    }
  }
  const auto report = Export();
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->delay_nodes, 2U);
  const std::string name = "delay before c10d::all_reduce";
  EXPECT_EQ(Find(Exported(0), name)->duration_ns, 20 * kUs);
  EXPECT_EQ(Find(Exported(1), name)->duration_ns, 10 * kUs);
  EXPECT_TRUE(WaitsFor(*Find(Exported(0), "c10d::all_reduce"), *Find(Exported(0), name)));
  ASSERT_TRUE(Export({.host_gaps = false}));
  EXPECT_EQ(Find(Exported(0), name), nullptr);
}

TEST_F(ExportedSet, RooflineHasACostOfEveryNode) {
  for (const std::size_t rank : {0U, 1U}) {
    Add(rank, 0, 10);
    Add(rank, 20, 5, {1}).kind = OpKind::kMetadata;
  }
  Request request{.mode = Mode::kRoofline};
  EXPECT_FALSE(Export(request)) << "no --peak-tflops";
  request.machine = {
      .dimensions = {{Topology::kSwitch, 2, 50, 500}}, .peak_tflops = 100, .memory_gb_per_s = 1000};
  std::uint64_t priced = 0;
  auto report = Export(request);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->timed_work, 2U);
  EXPECT_EQ(Exported(0)[0].tensor_bytes, 10'000'501) << "10 µs at 1,000 GB/s";
  ranks_[0][0].inputs = {Value{std::int64_t{1}}};
  request.costs = [&](Node& /*node*/) {
    ++priced;
    return OperationCost{2e9, 4e6};
  };
  report = Export(request);
  EXPECT_EQ(report->modelled_work, 1U);
  EXPECT_EQ(priced, 1U);
  EXPECT_EQ(Find(Exported(0), "aten::mm")->num_ops, 2'000'000'000);
  for (const Node& node : Exported(0)) {
    EXPECT_GT(node.num_ops, 0);
    EXPECT_GT(node.tensor_bytes, 0);
  }
}

TEST_F(ExportedSet, TransfersWithoutAnotherSideAreTimed) {
  AddTransfer(0, 0, CommKind::kAllReduce, 64);
  Add(1, 0, 1);
  const auto report = Export();
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->diagnostics.CountOf("transfer_without_counterpart"), 1U);
  EXPECT_EQ(Exported(0)[0].type, NodeType::kComp);
  EXPECT_EQ(Exported(0)[0].duration_ns, 5 * kUs);
  EXPECT_THAT(Errors(), IsEmpty());
}

TEST_F(ExportedSet, MachinesMustFit) {
  Add(0, 0, 1);
  Add(1, 0, 1);
  Request request;
  request.machine.dimensions = {{Topology::kRing, 2, 50, 500}, {Topology::kSwitch, 2, 50, 500}};
  auto report = Export(request);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().kind, ErrorKind::kUsage);
  EXPECT_THAT(report.error().message, HasSubstr("multiply to 4"));
  ranks_.resize(1);
  report = Export();
  ASSERT_FALSE(report);
  EXPECT_THAT(report.error().message, HasSubstr("at least two"));
}

TEST_F(ExportedSet, TensorsAreWrittenOnceAndThenRead) {
  const auto tensor = [](std::int64_t incarnation) {
    TensorDesc out;
    out.storage_id = out.incarnation = incarnation;
    out.elements = 4;
    out.dtype = DType::kFloat32;
    out.shape = {4};
    out.strides = {1};
    out.device = "cpu";
    return Value{out};
  };
  for (const std::size_t rank : {0U, 1U}) {
    Node& write = Add(rank, 0, 1);
    write.inputs = {tensor(1)};
    write.outputs = {tensor(2)};
    Node& change = Add(rank, 2, 1);
    change.inputs = {tensor(2)};
    change.outputs = {tensor(2)};
  }
  ASSERT_TRUE(Export({.track_memory = true}));
  const std::string bytes = ReadFile(scratch_.File("out/x.0.et"));
  EXPECT_THAT(bytes, HasSubstr("outputs"));
  EXPECT_TRUE(WaitsFor(Exported(0)[1], Exported(0)[0])) << "no read before the write";
  EXPECT_THAT(ReadFile(scratch_.File("out/system.json")), HasSubstr("\"track-local-mem\": 1"));
}

}  // namespace
}  // namespace reprise::astra_sim
