// What each node is replayed as, and the work that it is given: docs/coverage.md.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "kernels/backend.h"
#include "kernels/kernel.h"
#include "replayer/engine/estimate.h"
#include "replayer/engine/replay_options.h"
#include "replayer/plan/known_work.h"
#include "replayer/plan/option_texts.h"
#include "replayer/plan/plan.h"
#include "replayer/plan/work_cap.h"
#include "tests/replayer/small_trace.h"
#include "tests/replayer/stream_trace.h"

namespace reprise {
namespace {

constexpr std::int64_t kMillisecond = 1'000'000;

Graph GraphOf(TraceMetadata metadata, std::vector<Node> nodes) {
  auto graph = Graph::Build(std::move(metadata), std::move(nodes));
  EXPECT_TRUE(graph) << graph.error().message;
  return std::move(*graph);
}

Graph GraphOf(const ThreadTrace& trace) { return GraphOf(trace.Metadata(0, 1), trace.nodes); }

Plan PlanOf(const Graph& graph, const ReplayOptions& options = {}) {
  auto plan = BuildPlan(graph, options, FindBuiltinKernel);
  EXPECT_TRUE(plan) << plan.error().message;
  return std::move(*plan);
}

// A foreign trace's node: counts instead of arguments.
void AddCounted(ThreadTrace& trace, NodeType type, std::int64_t num_ops, std::int64_t bytes,
                std::int64_t duration_ns) {
  Node& node = trace.AddOp("made::up", {}, {}, duration_ns);
  node.type = type;
  node.num_ops = num_ops;
  node.tensor_bytes = bytes;
}

TEST(Kinds, AnOperationWithoutShapesIsTimed) {
  ThreadTrace trace;
  trace.AddOp("aten::mm", {}, {}, 3 * kMillisecond);
  const Plan plan = PlanOf(GraphOf(trace));
  EXPECT_EQ(plan.work[0].mode, ReplayMode::kTimed);
  EXPECT_EQ(plan.work[0].host_ns, 3 * kMillisecond);
  EXPECT_EQ(plan.work[0].source, WorkSource::kUnknown);
  EXPECT_EQ(plan.diagnostics.CountOf("unknown_work: aten::mm"), 1U);
}

TEST(Kinds, AKernelWithoutArgumentsHoldsItsStream) {
  StreamTrace trace;
  trace.AddDeviceNode(7, {}, "aten::mm", {}, {});
  const Plan plan = PlanOf(GraphOf(trace.Metadata(), trace.nodes));
  EXPECT_EQ(plan.work[1].mode, ReplayMode::kTimed);
  EXPECT_EQ(plan.work[1].host_ns, StreamTrace::kKernelNs);
  EXPECT_EQ(plan.actors[plan.work[1].actor].name, "stream 0/7");
}

TEST(Kinds, CompiledCodeIsTimedAndItsWorkNotUnknown) {
  ThreadTrace trace;
  trace.AddOp("## Call CompiledFxGraph f7iq ##", {}, {}, kMillisecond).op_class =
      OpClass::kCompiled;
  const Plan plan = PlanOf(GraphOf(trace));
  EXPECT_EQ(plan.work[0].mode, ReplayMode::kTimed);
  EXPECT_EQ(plan.work[0].host_ns, kMillisecond);
  EXPECT_EQ(plan.work[0].source, WorkSource::kNone);
}

// 10 us of pause, 80 us of work, 10 us, 40 us, 10 us: of a step of 150 us 120 us are work.
TEST(Kinds, PausesAddUpToWhatWorkLeavesOfTheUntracedStep) {
  ThreadTrace trace;
  trace.AddOp("aten::relu", {}, {}, 80'000);
  trace.AddOp("aten::relu", {}, {}, 40'000);
  TraceMetadata metadata = trace.Metadata(0, 1);
  metadata.tracing_call_ns = 1;
  ReplayOptions options;
  options.host_gaps = HostGaps::kUntraced;
  const auto gaps_ns = [&](std::int64_t untraced_step_ns) {
    metadata.untraced_step_ns = untraced_step_ns;
    const Plan plan = PlanOf(GraphOf(metadata, trace.nodes), options);
    return plan.work[0].gap_ns + plan.work[1].gap_ns + plan.frame.tail_ns;
  };
  EXPECT_EQ(gaps_ns(135'000), 15'000);
  EXPECT_EQ(gaps_ns(110'000), 0);       // operations alone exceed it
  EXPECT_EQ(gaps_ns(500'000), 30'000);  // never longer than recorded
  EXPECT_EQ(gaps_ns(-1), 30'000);       // unknown
  options.host_gaps = HostGaps::kKeep;
  EXPECT_EQ(gaps_ns(110'000), 30'000);
}

TEST(Kinds, WhatWasAskedToBeTimedIsNotUnknown) {
  ThreadTrace trace;
  trace.AddOp("aten::mm", {}, {});
  ReplayOptions options;
  ASSERT_TRUE(ParseOpModes("timed", options));
  EXPECT_EQ(PlanOf(GraphOf(trace), options).work[0].source, WorkSource::kNone);
}

TEST(Kinds, CountsOfForeignNodesAreWork) {
  ThreadTrace trace;
  AddCounted(trace, NodeType::kComp, 1000, 64, kMillisecond);
  AddCounted(trace, NodeType::kComp, 0, 0, kMillisecond);
  const Plan plan = PlanOf(GraphOf(trace));
  EXPECT_EQ(plan.work[0].mode, ReplayMode::kSurrogate);
  EXPECT_EQ(plan.work[0].source, WorkSource::kCounts);
  EXPECT_DOUBLE_EQ(plan.work[0].cost.flops, 1000);
  EXPECT_DOUBLE_EQ(plan.work[0].cost.bytes, 64);
  EXPECT_EQ(plan.work[1].mode, ReplayMode::kTimed);
}

TEST(Kinds, ShapesComeBeforeCounts) {
  ThreadTrace trace;
  trace.AddOp("made::up", {TensorValue(0, {8})}, {TensorValue(1, {8})}).num_ops = 1'000'000;
  const Plan plan = PlanOf(GraphOf(trace));
  EXPECT_EQ(plan.work[0].source, WorkSource::kArguments);
  EXPECT_DOUBLE_EQ(plan.work[0].cost.bytes, 64);
}

TEST(Kinds, MemoryNodesMoveTheirBytes) {
  ThreadTrace trace;
  AddCounted(trace, NodeType::kMemLoad, -1, 4096, kMillisecond);
  AddCounted(trace, NodeType::kMemStore, -1, 512, kMillisecond);
  AddCounted(trace, NodeType::kMemLoad, -1, -1, kMillisecond);
  const Graph graph = GraphOf(trace);
  const Plan plan = PlanOf(graph);
  EXPECT_EQ(plan.work[0].mode, ReplayMode::kReal);
  EXPECT_EQ(plan.work[0].source, WorkSource::kCopiedBytes);
  EXPECT_DOUBLE_EQ(plan.work[0].cost.bytes, 4096);
  EXPECT_DOUBLE_EQ(plan.work[1].cost.bytes, 512);
  EXPECT_EQ(plan.work[2].mode, ReplayMode::kTimed);  // of how many bytes is not known
  EXPECT_EQ(DescribeNodes(graph, plan, std::mem_fn(&Kernel::name))[0].kernel, "memcpy");
}

TEST(Kinds, CopiesOfADeviceMoveTheirBytes) {
  StreamTrace trace;
  trace.AddDeviceNode(7, {}, "aten::mm", {}, {});
  trace.nodes.back().name = "Memcpy DtoD (Device -> Device)";
  trace.nodes.back().device_work = DeviceWork{.copied_bytes = 1 << 20};
  trace.AddDeviceNode(7, {}, "aten::mm", {}, {});
  trace.nodes.back().name = "Memset (Device)";
  trace.nodes.back().device_work = DeviceWork{.copied_bytes = 256};
  const Graph graph = GraphOf(trace.Metadata(), trace.nodes);
  const Plan plan = PlanOf(graph);
  EXPECT_EQ(plan.work[1].mode, ReplayMode::kReal);
  EXPECT_DOUBLE_EQ(plan.work[1].cost.bytes, 1 << 20);
  EXPECT_FALSE(OnlyFills(graph, 1));
  EXPECT_EQ(plan.work[3].mode, ReplayMode::kReal);
  EXPECT_TRUE(OnlyFills(graph, 3));
}

// An operation of a device that launches several kernels: the longest has the arguments.
StreamTrace SeveralKernels(std::int64_t rf_id_of_second) {
  StreamTrace trace;
  trace.AddDeviceNode(7, {}, "aten::add", {}, {});
  trace.nodes.back().rf_id = 5;
  trace.AddKernel(7);
  trace.nodes.back().rf_id = rf_id_of_second;
  for (Node& node : trace.nodes) {
    if (!node.op.empty()) {
      node.device_work = DeviceWork{};
      node.delay_ns = 700;
    }
  }
  return trace;
}

TEST(Kinds, FurtherKernelsOfAnOperationAreDoneByItsLongest) {
  const StreamTrace trace = SeveralKernels(5);
  const Graph graph = GraphOf(trace.Metadata(), trace.nodes);
  const Plan plan = PlanOf(graph);
  EXPECT_EQ(plan.work[1].mode, ReplayMode::kReal);
  EXPECT_EQ(plan.work[1].source, WorkSource::kOperation);
  EXPECT_EQ(plan.work[1].part_of, 3U);
  EXPECT_EQ(plan.work[1].host_ns + plan.work[1].gap_ns, 0);
  EXPECT_DOUBLE_EQ(plan.work[1].cost.flops, 0);
  EXPECT_FALSE(plan.work[3].IsPart());
  EXPECT_EQ(plan.work[3].source, WorkSource::kArguments);
  EXPECT_EQ(plan.diagnostics.CountOf("unknown_work: aten::add"), 0U);
  EXPECT_EQ(DescribeNodes(graph, plan, std::mem_fn(&Kernel::name))[1].kernel, "");
}

TEST(Kinds, KernelsOfAnotherOrATimedOperationAreTimed) {
  const StreamTrace other = SeveralKernels(6);
  const Plan of_other = PlanOf(GraphOf(other.Metadata(), other.nodes));
  EXPECT_EQ(of_other.work[1].mode, ReplayMode::kTimed);
  EXPECT_EQ(of_other.work[1].host_ns, StreamTrace::kKernelNs);
  EXPECT_EQ(of_other.diagnostics.CountOf("unknown_work: aten::add"), 1U);
  const StreamTrace same = SeveralKernels(5);
  ReplayOptions options;
  ASSERT_TRUE(ParseOpModes("timed", options));
  const Plan timed = PlanOf(GraphOf(same.Metadata(), same.nodes), options);
  EXPECT_EQ(timed.work[1].host_ns, StreamTrace::kKernelNs);
  EXPECT_EQ(timed.work[1].mode, ReplayMode::kTimed);
  EXPECT_EQ(timed.work[1].source, WorkSource::kNone);
}

TEST(Kinds, OperationsWithoutElementsRunAndAreCounted) {
  ThreadTrace trace;
  trace.AddOp("made::up", {TensorValue(0, {0, 8})}, {TensorValue(1, {0, 8})});
  const Plan plan = PlanOf(GraphOf(trace));
  EXPECT_EQ(plan.work[0].mode, ReplayMode::kSurrogate);
  EXPECT_TRUE(plan.work[0].no_elements);
  EXPECT_EQ(plan.diagnostics.CountOf("no_elements: made::up"), 1U);
}

// ---- the cap

TEST(Cap, OfAKnownDeviceIsItsPeakInTheRecordedTime) {
  StreamTrace trace;
  const std::int64_t elements = 1 << 20;
  trace.AddDeviceNode(7, {}, "aten::mm", {TensorValue(0, {elements})},
                      {TensorValue(1, {elements})});
  TraceMetadata metadata = trace.Metadata();
  metadata.machine.device = "Tesla V100-SXM2-32GB";
  const Graph graph = GraphOf(metadata, trace.nodes);
  const Plan plan = PlanOf(graph);
  ASSERT_EQ(plan.work[1].mode, ReplayMode::kSurrogate);
  EXPECT_TRUE(plan.work[1].capped);
  EXPECT_NEAR(plan.work[1].cost.bytes, 900e9 * StreamTrace::kKernelNs * 1e-9, 1);
  EXPECT_NEAR(plan.work[1].cost.flops, elements, 1);  // plausible: left as it is
  EXPECT_TRUE(DescribeNodes(graph, plan, std::mem_fn(&Kernel::name))[1].capped);
  EXPECT_EQ(DescribeNodes(graph, plan, std::mem_fn(&Kernel::name))[1].recorded_duration_ns,
            StreamTrace::kKernelNs);
}

TEST(Cap, ElsewhereIsThreeTimesTheBestRateOfTheClass) {
  ThreadTrace trace;
  trace.AddOp("aten::mm", {TensorValue(0, {8, 8}), TensorValue(1, {8, 8})},
              {TensorValue(2, {8, 8})}, kMillisecond);  // 768 bytes
  trace.AddOp("made::up", {TensorValue(3, {1000})}, {TensorValue(4, {1000})}, kMillisecond);
  trace.AddOp("made::up", {TensorValue(3, {100})}, {TensorValue(4, {100})}, kMillisecond);
  const Plan plan = PlanOf(GraphOf(trace));
  EXPECT_FALSE(plan.work[0].capped);  // real: never cut
  EXPECT_TRUE(plan.work[1].capped);
  EXPECT_DOUBLE_EQ(plan.work[1].cost.bytes, 3 * 768);
  EXPECT_FALSE(plan.work[2].capped);
  EXPECT_DOUBLE_EQ(plan.work[2].cost.bytes, 800);
}

TEST(Cap, NeedsSomethingToCompareWith) {
  ThreadTrace trace;
  trace.AddOp("made::up", {TensorValue(3, {1000})}, {TensorValue(4, {1000})}, 1);
  const Plan plan = PlanOf(GraphOf(trace));
  EXPECT_FALSE(plan.work[0].capped);
  EXPECT_DOUBLE_EQ(plan.work[0].cost.bytes, 8000);
}

TEST(Cap, PeaksAreFoundByTheNameOfTheDriver) {
  ASSERT_TRUE(PeakOf("NVIDIA H100 80GB HBM3"));
  EXPECT_DOUBLE_EQ(PeakOf("NVIDIA H100 80GB HBM3")->bytes_per_second, 3352e9);
  EXPECT_DOUBLE_EQ(PeakOf("NVIDIA H100 PCIe")->bytes_per_second, 2039e9);
  EXPECT_DOUBLE_EQ(PeakOf("AMD Instinct MI300X VF")->bytes_per_second, 5325e9);
  EXPECT_DOUBLE_EQ(PeakOf("NVIDIA GeForce RTX 2080 Ti")->bytes_per_second, 616e9);
  EXPECT_DOUBLE_EQ(PeakOf("NVIDIA L4")->bytes_per_second, 300e9);
  EXPECT_DOUBLE_EQ(PeakOf("NVIDIA L40S")->bytes_per_second, 864e9);
  EXPECT_FALSE(PeakOf("cpu"));
  EXPECT_FALSE(PeakOf(""));
}

TEST(Cap, WithoutDurationsThereIsNone) {
  ThreadTrace trace;
  trace.AddOp("aten::mm", {TensorValue(0, {8, 8}), TensorValue(1, {8, 8})},
              {TensorValue(2, {8, 8})}, 0);
  AddCounted(trace, NodeType::kComp, 1'000'000'000, 1'000'000'000, 0);
  const Graph graph = GraphOf(trace);
  EXPECT_FALSE(HasDurations(graph));
  const Plan plan = PlanOf(graph);
  EXPECT_FALSE(plan.work[1].capped);
  EXPECT_DOUBLE_EQ(plan.work[1].cost.flops, 1e9);
}

TEST(Estimates, ProductsHaveTheRateOfTheirTypeAndAllElseThatOfFloat32) {
  const DeviceLimits limits{
      .bytes_per_second = 1e9, .flops_per_second = 1e9, .bfloat16_flops_per_second = 8e9};
  EXPECT_DOUBLE_EQ(limits.FlopsOf(OpClass::kGemm, DType::kFloat32), 1e9);
  EXPECT_DOUBLE_EQ(limits.FlopsOf(OpClass::kGemm, DType::kBFloat16), 8e9);
  EXPECT_DOUBLE_EQ(limits.FlopsOf(OpClass::kGemm, DType::kFloat16), 1e9);  // was not measured
  EXPECT_DOUBLE_EQ(limits.FlopsOf(OpClass::kAttention, DType::kBFloat16), 1e9);
  Work work;
  work.dtype = DType::kBFloat16;
  work.cost = {.flops = 8e9, .bytes = 5e8};
  EXPECT_DOUBLE_EQ(EstimateSeconds(work, OpClass::kGemm, limits), 1);
  EXPECT_DOUBLE_EQ(EstimateSeconds(work, OpClass::kConv, limits), 8);
}

TEST(Estimates, TheTypesOfAPlansProductsAreMeasured) {
  StreamTrace trace;
  trace.AddLongKernel(7, 64);
  for (ValueList* values : {&trace.nodes.back().inputs, &trace.nodes.back().outputs}) {
    for (Value& value : *values) {
      value.AsTensor()->dtype = DType::kBFloat16;
    }
  }
  trace.AddKernel(7);
  const Graph graph = GraphOf(trace.Metadata(), trace.nodes);
  const auto dtypes = ProductTypes(graph, PlanOf(graph));
  EXPECT_THAT(dtypes, ::testing::ElementsAre(DType::kBFloat16));
  auto device = OpenDevice({.backend = "host"});
  ASSERT_TRUE(device) << device.error().message;
  const auto limits = MeasureLimits(**device, dtypes);
  ASSERT_TRUE(limits) << limits.error().message;
  EXPECT_GT(limits->flops_per_second, 0);
  EXPECT_GT(limits->bfloat16_flops_per_second, 0);
  EXPECT_EQ(limits->float16_flops_per_second, 0);
}

TEST(Estimates, WithoutDurationsThereIsNoLimit) {
  Estimate estimate{.compute_ns = 3'600'000'000'000, .recorded_ns = 1};
  EXPECT_FALSE(CheckEstimate(estimate, {}, 1, {}));
  estimate.recorded_ns = 0;
  EXPECT_TRUE(CheckEstimate(estimate, {}, 1, {}));
}

}  // namespace
}  // namespace reprise
