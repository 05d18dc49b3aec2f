#include "replayer/plan/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/kernel.h"
#include "replayer/engine/replay_options.h"
#include "replayer/memory/memory_plan.h"
#include "replayer/plan/option_texts.h"
#include "tests/replayer/small_trace.h"
#include "tests/replayer/stream_trace.h"

namespace reprise {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

ThreadTrace Example() {
  ThreadTrace trace;
  trace.AddOp("aten::mm", {TensorValue(0, {8, 8}), TensorValue(1, {8, 8})},
              {TensorValue(2, {8, 8})});
  trace.AddOp("made::up", {TensorValue(2, {8, 8})}, {TensorValue(3, {8, 8})});
  trace.AddTransfer(AllReduceSpec(256), TensorValue(3, {8, 8}));
  trace.AddOp("aten::mm", {TensorValue(3, {8, 8}), TensorValue(1, {8, 8})},
              {TensorValue(4, {8, 8})});
  return trace;
}

Graph Built(const ThreadTrace& trace) {
  auto graph = Graph::Build(trace.Metadata(0, 1), trace.nodes);
  EXPECT_TRUE(graph) << graph.error().message;
  return std::move(*graph);
}

TEST(Plan, RealOperationsSurrogatesTransfersAndHostTime) {
  const Graph graph = Built(Example());
  const auto plan = BuildPlan(graph, {}, FindBuiltinKernel);
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->work[0].type, WorkType::kCompute);
  EXPECT_EQ(plan->work[0].mode, ReplayMode::kReal);
  ASSERT_NE(plan->work[0].kernel, nullptr);
  EXPECT_DOUBLE_EQ(plan->work[0].cost.flops, 2.0 * 8 * 8 * 8);
  EXPECT_EQ(plan->work[1].mode, ReplayMode::kSurrogate);
  EXPECT_EQ(plan->diagnostics.CountOf("no_kernel: made::up"), 1U);
  EXPECT_EQ(plan->work[2].type, WorkType::kHost);
  EXPECT_TRUE(plan->work[2].releases);  // the transfer waits for the issuing piece
  EXPECT_EQ(plan->work[3].type, WorkType::kTransfer);
  EXPECT_EQ(plan->transfers, std::vector<Graph::Index>{3});
  EXPECT_EQ(plan->work[4].type, WorkType::kWait);
  EXPECT_TRUE(plan->work[4].joins);
  EXPECT_EQ(plan->work[0].gap_ns, ThreadTrace::kGapNs);
  EXPECT_EQ(plan->frame.tail_ns, ThreadTrace::kGapNs);
}

TEST(Plan, ModesAndGaps) {
  const Graph graph = Built(Example());
  ReplayOptions options;
  options.default_op_mode = ReplayMode::kTimed;
  ASSERT_TRUE(ParseOpModes("gemm=skip", options));
  ASSERT_TRUE(ParseHostGaps("scale:0.5", options));
  options.time_scale = 3;
  const auto plan = BuildPlan(graph, options, FindBuiltinKernel);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->work[0].mode, ReplayMode::kSkip);
  EXPECT_EQ(plan->work[1].mode, ReplayMode::kTimed);
  EXPECT_EQ(plan->work[1].host_ns, 300'000);
  EXPECT_EQ(plan->work[3].mode, ReplayMode::kReal);
  EXPECT_EQ(plan->work[1].gap_ns, ThreadTrace::kGapNs / 2);
}

TEST(Plan, TimesWithoutEndAreRefused) {
  const Graph graph = Built(Example());
  ReplayOptions gaps;
  ASSERT_TRUE(ParseHostGaps("scale:1e300", gaps));
  ReplayOptions times;
  ASSERT_TRUE(ParseOpModes("timed", times));
  ASSERT_TRUE(ParseTimeScale("1e18", times));
  for (const ReplayOptions& options : {gaps, times}) {
    const auto refused = BuildPlan(graph, options, FindBuiltinKernel);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, ErrorKind::kBadInput);
    EXPECT_THAT(refused.error().message, HasSubstr("over 11 days"));
  }
}

TEST(Plan, OnlyWhatAThreadExecutesIsStretched) {
  ReplayOptions options;
  ASSERT_TRUE(ParseStretch("3", options));
  ASSERT_TRUE(ParseOpModes("gemm=timed", options));
  const auto plan = BuildPlan(Built(Example()), options, FindBuiltinKernel);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->work[0].stretch, 1);
  EXPECT_EQ(plan->work[1].stretch, 3);  // a surrogate
  EXPECT_TRUE(plan->work[1].releases);
  EXPECT_EQ(plan->work[2].stretch, 1);
  StreamTrace trace;
  trace.AddKernel(7);
  const auto graph = Graph::Build(trace.Metadata(), trace.nodes);
  ASSERT_TRUE(graph);
  const auto on_stream = BuildPlan(*graph, options, FindBuiltinKernel);
  ASSERT_TRUE(on_stream);
  EXPECT_EQ(on_stream->work[1].stretch, 1);
  EXPECT_EQ(on_stream->diagnostics.CountOf("not_stretched: on a device's stream"), 1U);
}

TEST(Plan, UnknownGroupIsRefusedUnlessTold) {
  ThreadTrace trace;
  CommSpec spec = AllReduceSpec(256);
  spec.certainty = GroupCertainty::kUnknown;
  trace.AddTransfer(spec, TensorValue(0, {64}));
  const Graph graph = Built(trace);
  ReplayOptions options;
  const auto refused = BuildPlan(graph, options, FindBuiltinKernel);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kBadInput);
  EXPECT_THAT(refused.error().message, HasSubstr("--assume-groups"));
  options.assume_groups = true;
  EXPECT_TRUE(BuildPlan(graph, options, FindBuiltinKernel));
}

TEST(Plan, BadModesAreUsageErrorsThatNameTheChoices) {
  ReplayOptions options;
  for (const char* text : {"gemm=fast", "nonsense=real", "quick"}) {
    const Status status = ParseOpModes(text, options);
    ASSERT_FALSE(status) << text;
    EXPECT_EQ(status.error().kind, ErrorKind::kUsage);
  }
  EXPECT_FALSE(ParseCommModes("teleport=real", options));
  EXPECT_FALSE(ParseHostGaps("sometimes", options));
  for (const char* wrong : {"scale:-1", "2", "scale", "scale0.5", "scale:inf"}) {
    EXPECT_FALSE(ParseHostGaps(wrong, options)) << wrong;
  }
}

TEST(Lifetimes, PersistentInputsTransfersAndIndexBounds) {
  ThreadTrace trace;
  // tokens (persistent, int64) → index_select-like copy → embedding of 50 rows
  trace.AddOp("aten::copy_",
              {TensorValue(6, {4}, DType::kInt64), TensorValue(5, {4}, DType::kInt64)},
              {TensorValue(6, {4}, DType::kInt64)});
  trace.AddOp("aten::embedding",
              {TensorValue(7, {50, 8}), TensorValue(6, {4}, DType::kInt64), Value{std::int64_t{-1}},
               Value{false}, Value{false}},
              {TensorValue(8, {4, 8})});
  trace.AddTransfer(AllReduceSpec(128), TensorValue(8, {4, 8}));
  const Graph graph = Built(trace);
  const auto plan = BuildPlan(graph, {}, FindBuiltinKernel);
  ASSERT_TRUE(plan);
  const auto lives = FindLifetimes(graph, *plan);
  ASSERT_TRUE(lives);
  const auto find = [&](std::int64_t incarnation) -> const StorageLife& {
    return *std::find_if(lives->begin(), lives->end(),
                         [&](const auto& life) { return life.incarnation == incarnation; });
  };
  EXPECT_TRUE(find(5).persistent);
  EXPECT_EQ(find(5).index_bound, 50);  // through the copy
  EXPECT_TRUE(find(7).persistent);
  EXPECT_FALSE(find(8).persistent);
  EXPECT_FALSE(find(8).single_actor);  // the communication thread reads it
  EXPECT_EQ(find(8).last, 4U);         // until the wait
  EXPECT_EQ(find(8).bytes, 128);
  EXPECT_NEAR(find(7).floats.front().second.high, std::sqrt(3.0 / 8), 1e-6);  // rows of 8
}

std::int64_t NumberOf(const ThreadTrace& trace, std::int64_t incarnation) {
  const Graph graph = Built(trace);
  const auto plan = BuildPlan(graph, {}, FindBuiltinKernel);
  EXPECT_TRUE(plan);
  const auto lives = FindLifetimes(graph, *plan);
  EXPECT_TRUE(lives);
  const auto found = std::find_if(lives->begin(), lives->end(), [&](const StorageLife& life) {
    return life.incarnation == incarnation;
  });
  EXPECT_NE(found, lives->end());
  return found->number;
}

void LookUp(ThreadTrace& trace, std::int64_t indices, std::int64_t count, std::int64_t rows) {
  trace.AddOp("aten::embedding",
              {TensorValue(90, {rows, 8}), TensorValue(indices, {count}, DType::kInt64),
               Value{std::int64_t{-1}}, Value{false}, Value{false}},
              {TensorValue(91, {count, 8})});
}

// Positions of a language model: arange(128) + n, looked up in 128 rows. Only 0 is possible.
TEST(Lifetimes, ANumberThatIsAddedKeepsIndicesValid) {
  ThreadTrace trace;
  trace.AddOp("aten::arange", {Value{std::int64_t{128}}}, {TensorValue(1, {128}, DType::kInt64)});
  trace.AddOp("aten::add",
              {TensorValue(1, {128}, DType::kInt64), TensorValue(2, {}, DType::kInt64),
               Value{std::int64_t{1}}},
              {TensorValue(3, {128}, DType::kInt64)});
  LookUp(trace, 3, 128, 128);
  EXPECT_EQ(NumberOf(trace, 2), 0);
}

// Routing to the 2 best of 4 experts: where a token's copy is in the sorted order, divided by 2, is
// the token.
TEST(Lifetimes, ANumberThatDividesKeepsIndicesValid) {
  ThreadTrace trace;
  trace.AddOp("aten::sort",
              {TensorValue(1, {512}, DType::kInt64), Value{std::int64_t{-1}}, Value{false}},
              {TensorValue(2, {512}, DType::kInt64), TensorValue(3, {512}, DType::kInt64)});
  trace.AddOp("aten::floor_divide",
              {TensorValue(3, {512}, DType::kInt64), TensorValue(4, {}, DType::kInt64)},
              {TensorValue(5, {512}, DType::kInt64)});
  LookUp(trace, 5, 512, 256);
  EXPECT_EQ(NumberOf(trace, 4), 2);
}

// The same by a stable argsort, whose dimension comes after the word "stable".
TEST(Lifetimes, ANumberThatDividesSortedPositionsKeepsIndicesValid) {
  ThreadTrace trace;
  trace.AddOp(
      "aten::argsort",
      {TensorValue(1, {512}, DType::kInt64), Value{true}, Value{std::int64_t{-1}}, Value{false}},
      {TensorValue(3, {512}, DType::kInt64)});
  trace.AddOp("aten::floor_divide",
              {TensorValue(3, {512}, DType::kInt64), TensorValue(4, {}, DType::kInt64)},
              {TensorValue(5, {512}, DType::kInt64)});
  LookUp(trace, 5, 512, 256);
  EXPECT_EQ(NumberOf(trace, 4), 2);
}

// weight → a copy in bfloat16 → a product over 8; its momentum is no factor.
TEST(Lifetimes, FactorsOfProductsThroughCopies) {
  ThreadTrace trace;
  trace.AddOp("aten::copy_", {TensorValue(2, {8, 8}, DType::kBFloat16), TensorValue(1, {8, 8})},
              {TensorValue(2, {8, 8}, DType::kBFloat16)});
  trace.AddOp("aten::mm",
              {TensorValue(3, {4, 8}, DType::kBFloat16), TensorValue(2, {8, 8}, DType::kBFloat16)},
              {TensorValue(4, {4, 8}, DType::kBFloat16)});
  trace.AddOp("aten::mul_", {TensorValue(5, {8, 8}), TensorValue(6, {1})},
              {TensorValue(5, {8, 8})});
  const Graph graph = Built(trace);
  const auto plan = BuildPlan(graph, {}, FindBuiltinKernel);
  ASSERT_TRUE(plan);
  const auto lives = FindLifetimes(graph, *plan);
  ASSERT_TRUE(lives);
  for (const StorageLife& life : *lives) {
    if (life.incarnation == 1) {
      EXPECT_NEAR(life.floats.front().second.high, std::sqrt(3.0 / 8), 1e-6);
      EXPECT_EQ(life.floats.front().second.low, -life.floats.front().second.high);
      EXPECT_FALSE(life.changes);
    } else if (life.incarnation == 5) {  // multiplied by one number
      EXPECT_EQ(life.floats.front().second, FloatRange());
      EXPECT_TRUE(life.changes);
    }
  }
}

}  // namespace
}  // namespace reprise
