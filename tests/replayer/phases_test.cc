// Phases and batch, concluded from small traces and from a bundled capture.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "replayer/engine/step_batch.h"
#include "replayer/plan/training_phases.h"
#include "tests/replayer/small_trace.h"

namespace reprise {
namespace {

using ::testing::ElementsAre;
using ::testing::Optional;

// One training step, operation by operation; Phases() lists what became of each.
class PhaseTrace {
 public:
  PhaseTrace& Op(const std::string& name, const std::string& parent, OpKind kind = OpKind::kWork) {
    trace_.Add(name, kind, 1'000).parent = parent;
    return *this;
  }
  PhaseTrace& On(std::int64_t thread) {
    trace_.nodes.back().actor.id = thread;
    return *this;
  }
  PhaseTrace& InStep(std::int32_t step) {
    trace_.nodes.back().step = step;
    return *this;
  }
  // A device node that the last operation launched.
  PhaseTrace& Kernel(const std::string& name) {
    Node kernel = trace_.nodes.back();
    kernel.id += 1'000;
    kernel.name = name;
    kernel.parent.clear();
    kernel.actor = {Actor::Kind::kStream, 7, 0};
    kernel.deps = {{trace_.nodes.back().id, EdgeReason::kLaunch, false}};
    kernel.start_ns += 100;
    kernel.device_work = DeviceWork{};
    kernels_.push_back(std::move(kernel));
    return *this;
  }
  PhaseTrace& Mark(const std::string& name, std::size_t first_node) {
    const std::int64_t start_ns = trace_.nodes[first_node].start_ns;
    ranges_.push_back({.name = name,
                       .thread = 1,
                       .start_ns = start_ns,
                       .duration_ns = trace_.end_ns - start_ns,
                       .step = 0});
    return *this;
  }

  [[nodiscard]] std::vector<Phase> Phases() const {
    TraceMetadata metadata;
    metadata.ranges = ranges_;
    std::vector<Node> nodes = trace_.nodes;
    nodes.insert(nodes.end(), kernels_.begin(), kernels_.end());
    std::vector<std::uint64_t> ids;
    ids.reserve(nodes.size());
    for (const Node& node : nodes) {
      ids.push_back(node.id);
    }
    auto graph = Graph::Build(std::move(metadata), std::move(nodes));
    EXPECT_TRUE(graph) << graph.error().message;
    const std::vector<Phase> found = FindPhases(*graph);
    std::vector<Phase> phases;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      phases.push_back(found[*graph->FindId(ids[i])]);
    }
    return phases;
  }

 private:
  ThreadTrace trace_;
  std::vector<Node> kernels_;
  std::vector<Range> ranges_;
};

constexpr Phase kF = Phase::kForward, kB = Phase::kBackward, kO = Phase::kOptimizer,
                kC = Phase::kCommunication, kX = Phase::kOther;
constexpr char kStep[] = "ProfilerStep#8";

TEST(Phases, ForwardBackwardOptimizerAndTheRest) {
  PhaseTrace trace;
  trace.Op("aten::zero_", "Optimizer.zero_grad#AdamW.zero_grad")
      .Op("aten::addmm", "aten::linear")
      .Op("aten::add", kStep)
      .Op("aten::ones_like", kStep)
      .Op("aten::mm", "AddmmBackward0")
      .Op("aten::view", "aten::reshape")
      .Op("aten::embedding_dense_backward", "aten::embedding_backward")
      .Op("aten::detach", "torch::autograd::AccumulateGrad")
      .Op("aten::_foreach_norm", kStep)
      .Op("aten::mul_", "Optimizer.step#AdamW.step")
      .Op("aten::item", kStep);
  EXPECT_THAT(trace.Phases(), ElementsAre(kO, kF, kF, kF, kB, kB, kB, kB, kX, kO, kX));
}

// What the backward pass computes anew is its own; a second forward pass between two is not.
TEST(Phases, ForwardOfTheNextMicroBatchOnAGpu) {
  PhaseTrace trace;
  trace.Op("aten::add", kStep, OpKind::kMetadata)
      .Kernel("add")
      .Op("aten::mm", "AddmmBackward0", OpKind::kMetadata)
      .Kernel("gemm")
      .Op("aten::view", kStep, OpKind::kMetadata)  // launches nothing: says nothing
      .Op("aten::mm", "AddmmBackward0", OpKind::kMetadata)
      .Op("aten::add", kStep, OpKind::kMetadata)
      .Kernel("add")
      .Op("aten::mm", "AddmmBackward0", OpKind::kMetadata);
  EXPECT_THAT(trace.Phases(), ElementsAre(kF, kB, kB, kB, kF, kB, kF, kB, kF));
}

TEST(Phases, RecomputingIsBackwardAccumulationIsNot) {
  PhaseTrace recompute;
  recompute.Op("aten::mm", "aten::linear")
      .Op("aten::mm", "MmBackward0")
      .Op("aten::addmm", "aten::linear")
      .Op("aten::gelu", "GeluBackward0");
  EXPECT_THAT(recompute.Phases(), ElementsAre(kF, kB, kB, kB));
  PhaseTrace accumulate;
  accumulate.Op("aten::mm", "aten::linear")
      .Op("aten::mm", "MmBackward0")
      .Op("aten::addmm", "aten::linear")
      .Op("aten::add", kStep)
      .Op("aten::mm", "MmBackward0");
  EXPECT_THAT(accumulate.Phases(), ElementsAre(kF, kB, kF, kF, kB));
}

// Autograd's own thread computes while the main one waits; kernels follow who launched them.
TEST(Phases, ThreadsAndKernels) {
  PhaseTrace trace;
  trace.Op("aten::mm", "aten::linear")
      .Kernel("sgemm_1")
      .Op("aten::mm", "MmBackward0")
      .On(2)
      .Kernel("sgemm_2")
      .Op("aten::clamp", kStep)
      .Op("aten::_fused_adamw_", "")
      .Kernel("multi_tensor_apply");
  EXPECT_THAT(trace.Phases(), ElementsAre(kF, kB, kX, kO, kF, kB, kO));
}

TEST(Phases, CallsOfTransfersAreCommunicationWhereverTheyAre) {
  PhaseTrace trace;
  trace.Op("aten::mm", "MmBackward0")
      .Op("c10d::allreduce_", "torch::autograd::AccumulateGrad", OpKind::kMetadata)
      .Op("aten::mm", "MmBackward0");
  EXPECT_THAT(trace.Phases(), ElementsAre(kB, kC, kB));
}

TEST(Phases, RangesSpeakForWhatIsInThem) {
  PhaseTrace trace;
  trace.Op("aten::mm", "aten::linear")
      .Op("aten::stack", "aten::collate")
      .Mark("enumerate(DataLoader)#_Iter.__next__", 1)
      .Op("aten::sqrt", "aten::sqrt_frame")
      .Op("aten::add_", "another")
      .Mark("Optimizer.step#SGD.step", 2);
  EXPECT_THAT(trace.Phases(), ElementsAre(kF, kX, kO, kO));
}

TEST(Phases, EveryStepBeginsAnew) {
  PhaseTrace trace;
  trace.Op("aten::mm", "MmBackward0")
      .Op("aten::mm", "aten::linear")
      .InStep(1)
      .Op("aten::mm", "MmBackward0")
      .InStep(1);
  EXPECT_THAT(trace.Phases(), ElementsAre(kB, kF, kB));
  PhaseTrace inference;
  inference.Op("aten::mm", "aten::linear").Op("aten::relu", "");
  EXPECT_THAT(inference.Phases(), ElementsAre(kF, kF));
}

StepBatch BatchOf(ThreadTrace trace) {
  auto graph = Graph::Build(TraceMetadata{}, std::move(trace.nodes));
  EXPECT_TRUE(graph);
  return FindStepBatch(*graph, FindPhases(*graph));
}

// Two parts of a batch through one table; a second table, for positions, counts nothing.
TEST(StepBatch, IndicesOfTheFirstEmbedding) {
  ThreadTrace trace;
  for (int part = 0; part < 2; ++part) {
    trace.AddOp("aten::embedding", {TensorValue(1, {512, 8}), TensorValue(10, {4, 64})},
                {TensorValue(11, {4, 64, 8})});
    trace.AddOp("aten::embedding", {TensorValue(2, {64, 8}), TensorValue(12, {64})},
                {TensorValue(13, {64, 8})});
  }
  const StepBatch batch = BatchOf(trace);
  EXPECT_THAT(batch.tokens, Optional(512));
  EXPECT_THAT(batch.samples, Optional(8));
  EXPECT_EQ(batch.tokens_from, "indices of aten::embedding, node 10");
  EXPECT_EQ(batch.shared_by, "");
}

// Two samples: a prompt of 16 tokens, then one token after the other.
TEST(StepBatch, ALoopThatGeneratesHasTheSamplesOfItsPrompt) {
  ThreadTrace trace;
  for (const std::int64_t tokens : {16, 1, 1, 1}) {
    trace.AddOp("aten::embedding", {TensorValue(1, {512, 8}), TensorValue(10, {2, tokens})},
                {TensorValue(11, {2, tokens, 8})});
  }
  EXPECT_THAT(BatchOf(std::move(trace)).samples, Optional(2));
}

// An all_reduce of an element for every token in the forward pass: its members share the tokens.
// A small one, and one of the backward pass, tell nothing.
TEST(StepBatch, TensorParallelRanksShareTheirTokens) {
  const auto make = [](std::int64_t bytes, bool after_backward) {
    ThreadTrace trace;
    trace.AddOp("aten::embedding", {TensorValue(1, {512, 8}), TensorValue(10, {4, 64})},
                {TensorValue(11, {4, 64, 8})});
    if (after_backward) {
      trace.AddOp("aten::mm", {}, {}).parent = "MmBackward0";
    }
    CommSpec spec;
    spec.group = "tp";
    spec.dtype = DType::kFloat32;
    spec.in_bytes = spec.out_bytes = bytes;
    trace.AddTransfer(spec, TensorValue(11, {4, 64, 8}));
    return BatchOf(trace).shared_by;
  };
  EXPECT_EQ(make(4 * 256 * 8, false), "tp");
  EXPECT_EQ(make(4 * 255, false), "");
  EXPECT_EQ(make(4 * 256 * 8, true), "");
}

TEST(StepBatch, ImagesAreSamplesWithoutTokens) {
  ThreadTrace trace;
  trace.AddOp("aten::mkldnn_convolution",
              {TensorValue(1, {8, 3, 64, 64}), TensorValue(2, {32, 3, 7, 7})},
              {TensorValue(3, {8, 32, 32, 32})});
  const StepBatch batch = BatchOf(trace);
  EXPECT_FALSE(batch.tokens);
  EXPECT_THAT(batch.samples, Optional(8));
  EXPECT_FALSE(BatchOf(ThreadTrace{}).samples);
}

}  // namespace
}  // namespace reprise
