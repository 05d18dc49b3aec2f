// A small set by hand on two machines: operations, launches, transfers, slow ranks, jitter.
#include "predict/simulator/scale.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "predict/machine/catalogue.h"

namespace reprise {
namespace {

using ::testing::HasSubstr;

constexpr std::size_t kNodes =
    4;  // launch on a thread, its kernel, a kernel without a name, all_reduce

// Two ranks with the same four nodes.
class ScaleSet : public ::testing::Test {
 protected:
  void SetUp() override {
    for (std::int32_t rank = 0; rank < 2; ++rank) {
      TraceMetadata metadata;
      metadata.rank = rank;
      metadata.world_size = 2;
      std::vector<Node> nodes(kNodes);
      nodes[0] = {.id = 1, .name = "cudaLaunchKernel", .type = NodeType::kComp};
      nodes[0].duration_ns = 5'000;
      nodes[0].kind = OpKind::kMetadata;
      nodes[1] = {.id = 2,
                  .name = "gemm_kernel",
                  .type = NodeType::kComp,
                  .actor = {Actor::Kind::kStream, 7, 0},
                  .deps = {{1, EdgeReason::kLaunch}}};
      nodes[1].start_ns = 15'000;
      nodes[1].duration_ns = 1'000'000;
      nodes[1].delay_ns = 10'000;
      nodes[1].op_class = OpClass::kGemm;
      nodes[2] = {.id = 3,
                  .name = "who_knows",
                  .type = NodeType::kComp,
                  .actor = {Actor::Kind::kStream, 7, 0},
                  .deps = {{2, EdgeReason::kStream}}};
      nodes[2].start_ns = 1'015'000;
      nodes[2].duration_ns = 300'000;
      nodes[3] = {.id = 4,
                  .name = "nccl",
                  .type = NodeType::kCommColl,
                  .actor = {Actor::Kind::kGroup, 0, -1},
                  .deps = {{3, EdgeReason::kStream}}};
      nodes[3].start_ns = 1'315'000;
      nodes[3].duration_ns = 2'000'000;
      nodes[3].kind = OpKind::kComm;
      nodes[3].op_class = OpClass::kComm;
      CommSpec spec;
      spec.group = "0";
      spec.in_bytes = spec.out_bytes = 256 << 20;
      nodes[3].comm = spec;
      Result<Graph> graph = Graph::Build(metadata, nodes);
      ASSERT_TRUE(graph) << graph.error().message;
      graphs_.push_back(std::move(*graph));
      nodes_.push_back(std::move(nodes));
    }
    first_ = {0, kNodes, 2 * kNodes};
    for (std::size_t rank = 0; rank < 2; ++rank) {
      const Graph& graph = graphs_[rank];
      for (Graph::Index i = 0; i < graph.size(); ++i) {
        timing_.duration_ns.push_back(graph.duration_ns(i));
        timing_.delay_ns.push_back(graph.delay_ns(i));
        timing_.transfer_ns.push_back(graph.comm(i) != nullptr ? 1'500'000 : 0);
        timing_.match.push_back(graph.comm(i) != nullptr ? 0 : -1);
        work_.push_back({graph.op_class(i), DType::kFloat16, 0, 0, false});
      }
      // Bound by FLOPs on both machines.
      work_[rank * kNodes + 1] = {OpClass::kGemm, DType::kFloat16, 1e12, 1e8, true};
    }
  }

  Result<ScaleSummary> Scale(const ScaleOptions& options) {
    return ScaleTimes({graphs_, first_, work_, {{"0", {0, 1}}}}, options, timing_, source_);
  }

  static ScaleOptions Between(const std::string& from, const std::string& to) {
    ScaleOptions options;
    options.from = *LoadMachine(from);
    options.to = *LoadMachine(to);
    options.from->device.classes.clear();  // the ratio of the peaks is the tests' truth
    options.to->device.classes.clear();
    return options;
  }

  std::vector<std::vector<Node>> nodes_;  // of each rank
  std::vector<Graph> graphs_;
  std::vector<std::uint32_t> first_;
  std::vector<OperatorWork> work_;
  TimingGraph timing_;
  std::vector<TimeSource> source_;
};

TEST_F(ScaleSet, BetweenTwoMachines) {
  const Result<ScaleSummary> summary = Scale(Between("a100-hgx", "h100-hgx"));
  ASSERT_TRUE(summary) << summary.error().message;
  const double ratio = 312.0 / 989.4;
  EXPECT_EQ(timing_.duration_ns[0], 5'000);
  EXPECT_EQ(timing_.duration_ns[1], std::llround(1'000'000 * ratio));
  EXPECT_NEAR(static_cast<double>(timing_.duration_ns[2]), 300'000 * ratio, 1);
  EXPECT_EQ(timing_.delay_ns[1], 10'000);  // the same launch latency
  EXPECT_EQ(source_[0], TimeSource::kRecorded);
  EXPECT_EQ(source_[1], TimeSource::kScaled);
  EXPECT_EQ(source_[2], TimeSource::kWhole);
  EXPECT_EQ(source_[3], TimeSource::kScaled);
  EXPECT_NEAR(summary->whole_ratio, ratio, 1e-6);
  EXPECT_EQ(summary->operations_recorded_ns, 2 * 1'300'000);
  EXPECT_EQ(summary->known_recorded_ns, 2 * 1'000'000);
  EXPECT_EQ(summary->by_default_ns, 0);  // bound by the same: the efficiency cancels out
  const auto time_on = [](const std::string& name) {
    const Network network = *Network::Create(*LoadMachine(name), 2);
    GroupShape shape = network.ShapeOf(std::vector<std::int32_t>{0, 1});
    shape.levels[0].sharers = 1;
    return static_cast<double>(network.TimeOf(CommKind::kAllReduce, 256 << 20, shape).ns);
  };
  EXPECT_EQ(timing_.transfer_ns[3],
            std::llround(1'500'000 * (time_on("h100-hgx") / time_on("a100-hgx"))));
}

TEST_F(ScaleSet, OnTheSameMachineNothingChanges) {
  const TimingGraph before = timing_;
  for (const auto& options : {Between("b200-hgx", "b200-hgx"), ScaleOptions{}}) {
    ASSERT_TRUE(Scale(options));
    EXPECT_EQ(timing_.duration_ns, before.duration_ns);
    EXPECT_EQ(timing_.delay_ns, before.delay_ns);
    EXPECT_EQ(timing_.transfer_ns, before.transfer_ns);
  }
}

TEST_F(ScaleSet, WhatHasAnotherSizeIsModelled) {
  const TimingGraph before = timing_;
  for (std::size_t rank = 0; rank < graphs_.size(); ++rank) {
    nodes_[rank][1].rescaled = Rescaled::kShard;
    nodes_[rank][3].rescaled = Rescaled::kGroup;
    graphs_[rank] = *Graph::Build(graphs_[rank].metadata(), nodes_[rank]);
  }
  ASSERT_TRUE(Scale(ScaleOptions{}));  // no machine's model: as recorded
  EXPECT_EQ(timing_.transfer_ns, before.transfer_ns);
  // The two ranks stand for a job of 16, in one group.
  const ScaleOptions options = Between("b200-hgx", "b200-hgx");
  CapturedSet set{graphs_, first_, work_, {}, {0, 8}, 16};
  set.groups["0"].resize(16);
  std::iota(set.groups["0"].begin(), set.groups["0"].end(), 0);
  const auto summary = ScaleTimes(set, options, timing_, source_);
  ASSERT_TRUE(summary) << summary.error().message;
  EXPECT_EQ(summary->modelled, 4);
  EXPECT_EQ(timing_.duration_ns[2], before.duration_ns[2]);
  EXPECT_EQ(timing_.duration_ns[1], std::llround(RooflineOf(options.to->device, work_[1]).ns));
  const Network network = *Network::Create(*options.to, 16);
  GroupShape shape = network.ShapeOf(set.groups["0"]);
  for (auto& level : shape.levels) {
    level.sharers = 1;
  }
  EXPECT_EQ(timing_.transfer_ns[3], network.TimeOf(CommKind::kAllReduce, 256 << 20, shape).ns);
  EXPECT_EQ(source_[3], TimeSource::kDatasheet);
}

TEST_F(ScaleSet, WhatIsBoundByOtherThingsRestsOnDefaults) {
  // 1.2 MB for each GFLOP: by memory on the V100, by FLOPs where the memory is ten times as fast.
  work_[1] = work_[kNodes + 1] = {OpClass::kGemm, DType::kFloat16, 1e11, 1.2e9, true};
  ScaleOptions options = Between("v100-dgx", "v100-dgx");
  options.to->device.memory_bytes_per_second.value *= 10;
  const Result<ScaleSummary> summary = Scale(options);
  ASSERT_TRUE(summary);
  EXPECT_EQ(summary->by_default_ns, timing_.duration_ns[1] * 2);
}

TEST_F(ScaleSet, ASlowRankIsSlowAlone) {
  ScaleOptions options;
  options.slow_ranks = {*ParseSlowRank("1=1.5")};
  ASSERT_TRUE(Scale(options));
  EXPECT_EQ(timing_.duration_ns[1], 1'000'000);
  EXPECT_EQ(timing_.duration_ns[kNodes + 1], 1'500'000);
  EXPECT_EQ(timing_.duration_ns[kNodes + 2], 450'000);
  EXPECT_EQ(timing_.duration_ns[kNodes], 5'000);          // host time is no operation
  EXPECT_EQ(timing_.transfer_ns[kNodes + 3], 1'500'000);  // nor is a transfer
  options.slow_ranks = {{2, 1.5}};
  EXPECT_EQ(Scale(options).error().kind, ErrorKind::kUsage);
}

TEST_F(ScaleSet, LaunchLatencyIsExchanged) {
  ScaleOptions options = Between("a100-hgx", "a100-hgx");
  options.to->device.launch_latency_ns.value = 2'000;  // of 8,000 before
  ASSERT_TRUE(Scale(options));
  EXPECT_EQ(timing_.delay_ns[1], 4'000);
  EXPECT_EQ(timing_.delay_ns[2], 0);  // not launched: follows on its stream
}

TEST_F(ScaleSet, JitterHasMeanOneAndDependsOnTheSeed) {
  double sum = 0;
  constexpr int kSeeds = 4000;
  const TimingGraph before = timing_;
  ScaleOptions options;
  options.jitter = 0.2;
  std::vector<std::int64_t> of_seed_7;
  for (int seed = 0; seed < kSeeds; ++seed) {
    timing_ = before;
    options.seed = static_cast<std::uint64_t>(seed);
    ASSERT_TRUE(Scale(options));
    sum += static_cast<double>(timing_.duration_ns[1]) / 1'000'000;
    if (seed == 7) {
      of_seed_7 = timing_.duration_ns;
    }
    EXPECT_NE(timing_.duration_ns[1], timing_.duration_ns[kNodes + 1]);  // ranks differ
  }
  EXPECT_NEAR(sum / kSeeds, 1, 4 * 0.2 / std::sqrt(kSeeds));
  timing_ = before;
  options.seed = 7;
  ASSERT_TRUE(Scale(options));
  EXPECT_EQ(timing_.duration_ns, of_seed_7);
}

TEST_F(ScaleSet, RefusesASetWithoutShapes) {
  work_[1].known = work_[kNodes + 1].known = false;
  const Result<ScaleSummary> summary = Scale(Between("a100-hgx", "h100-hgx"));
  ASSERT_FALSE(summary);
  EXPECT_EQ(summary.error().kind, ErrorKind::kBadInput);
  EXPECT_THAT(summary.error().message, HasSubstr("record_shapes"));
  EXPECT_TRUE(Scale(Between("a100-hgx", "a100-hgx")));
}

TEST(Roofline, RowsThatAreNoMultipleOf16BytesAreSlow) {
  MachineModel machine = *LoadMachine("a100-hgx");
  const auto product = [](DType dtype, float n, float k) {
    return OperatorWork{.op_class = OpClass::kGemm,
                        .dtype = dtype,
                        .flops = 1e12,
                        .bytes = 1e6,
                        .known = true,
                        .shape = {WorkShapeKind::kProduct, 2048, n, k, 64}};
  };
  const auto slower = [&](const OperatorWork& work) {
    MachineModel without = machine;
    for (ClassEfficiency& of_class : without.device.classes) {
      of_class.shape.unaligned.reset();
    }
    return RooflineOf(machine.device, work).ns / RooflineOf(without.device, work).ns;
  };
  const double rate = FindClass(machine.device, OpClass::kGemm)->shape.unaligned->value;
  for (const auto& [dtype, n, k, expected] :
       {std::tuple(DType::kBFloat16, 2048, 108, 1 / rate),
        std::tuple(DType::kBFloat16, 108, 2048, 1 / rate),
        std::tuple(DType::kBFloat16, 2048, 104, 1.0), std::tuple(DType::kFloat32, 2048, 108, 1.0),
        std::tuple(DType::kFloat32, 2048, 107, 1 / rate)}) {
    EXPECT_NEAR(slower(product(dtype, static_cast<float>(n), static_cast<float>(k))) / expected, 1,
                0.01)
        << Name(dtype) << " " << n << " " << k;
  }
  OperatorWork attention = product(DType::kBFloat16, 2048, 108);
  attention.op_class = OpClass::kAttention;
  attention.shape.kind = WorkShapeKind::kAttention;
  EXPECT_EQ(slower(attention), 1);
}

// A faster device never takes longer for anything.
TEST(Roofline, IsMonotonic) {
  for (const std::string& name : MachineNames()) {
    const MachineModel before = *LoadMachine(name);
    MachineModel after = before;
    after.device.memory_bytes_per_second.value *= 1.5;
    for (OptionalNumber& rate : after.device.matrix_flops_per_second) {
      if (rate) {
        rate->value *= 2;
      }
    }
    for (double flops = 1; flops < 1e15; flops *= 30) {
      for (double bytes = 1; bytes < 1e12; bytes *= 30) {
        for (const OpClass op_class : {OpClass::kGemm, OpClass::kConv, OpClass::kElementwise}) {
          for (const DType dtype : {DType::kFloat32, DType::kBFloat16, DType::kInt64}) {
            const OperatorWork work{op_class, dtype, flops, bytes, true};
            EXPECT_LE(RooflineOf(after.device, work).ns, RooflineOf(before.device, work).ns);
            EXPECT_GE(RooflineOf(before.device, work).ns, before.device.kernel_least_ns.value);
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace reprise
