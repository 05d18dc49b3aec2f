// What inputs start as, from the operations that use them.
#include "replayer/memory/input_values.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "kernels/kernel.h"
#include "replayer/engine/replay_options.h"
#include "replayer/plan/plan.h"
#include "tests/replayer/small_trace.h"

namespace reprise {
namespace {

Value Number(std::int64_t number) { return Value{number}; }

std::map<std::int64_t, StorageLife> LivesOf(const ThreadTrace& trace,
                                            const std::vector<IndexRange>& recorded = {},
                                            const ReplayOptions& options = {}) {
  TraceMetadata metadata;
  metadata.index_ranges = recorded;
  const auto graph = Graph::Build(metadata, trace.nodes);
  EXPECT_TRUE(graph);
  const auto plan = BuildPlan(*graph, options, FindBuiltinKernel);
  EXPECT_TRUE(plan);
  const auto lives = FindLifetimes(*graph, *plan);
  EXPECT_TRUE(lives);
  std::map<std::int64_t, StorageLife> found;
  for (const StorageLife& life : *lives) {
    found.emplace(life.incarnation, life);
  }
  return found;
}

// Unfused attention: softmax's input is of order one although the number that scales it is not in
// the trace.
TEST(InputValues, AttentionIsScaledByTheRootOfItsTerms) {
  for (const bool divides : {false, true}) {
    ThreadTrace trace;
    // Both factors are computed in the trace.
    trace.AddOp("aten::mm", {TensorValue(1, {16, 32}), TensorValue(2, {32, 64})},
                {TensorValue(3, {16, 64})});
    trace.AddOp("aten::bmm", {TensorValue(3, {1, 16, 64}), TensorValue(3, {1, 64, 16})},
                {TensorValue(4, {1, 16, 16})});
    trace.AddOp(divides ? "aten::div" : "aten::mul", {TensorValue(4, {16, 16}), TensorValue(5, {})},
                {TensorValue(6, {16, 16})});
    const auto lives = LivesOf(trace);
    EXPECT_NEAR(lives.at(5).float_number, divides ? 8 : 0.125, 1e-9);
    EXPECT_NEAR(lives.at(1).floats.front().second.high, std::sqrt(3.0), 1e-9)
        << "data: deviation 1";
    EXPECT_NEAR(lives.at(2).floats.front().second.high, std::sqrt(3.0 / 32), 1e-9)
        << "weights: 1/sqrt(32)";
  }
}

// The query is scaled first, then copied, then multiplied.
TEST(InputValues, AFactorOfAttentionIsScaledAsTheProductIs) {
  ThreadTrace trace;
  trace.AddOp("aten::mm", {TensorValue(1, {16, 32}), TensorValue(2, {32, 64})},
              {TensorValue(3, {16, 64})});
  trace.AddOp("aten::mul", {TensorValue(3, {16, 64}), TensorValue(4, {})},
              {TensorValue(5, {16, 64})});
  trace.AddOp("aten::copy_", {TensorValue(6, {16, 64}), TensorValue(5, {16, 64}), Value{false}},
              {TensorValue(6, {16, 64})});
  trace.AddOp("aten::bmm", {TensorValue(6, {1, 16, 64}), TensorValue(3, {1, 64, 16})},
              {TensorValue(7, {1, 16, 16})});
  EXPECT_NEAR(LivesOf(trace).at(4).float_number, 0.125, 1e-9);
}

// Sharded parameters: two shards in one buffer, gathered, taken apart, used. Each is what it is
// used as, whichever rank this is.
TEST(InputValues, ShardsAreUsedAsWhatIsGatheredFromThem) {
  ThreadTrace trace;
  const auto part = [](std::int64_t offset, std::vector<std::int64_t> shape) {
    Value value = TensorValue(3, std::move(shape));
    value.AsTensor()->offset = offset;
    return value;
  };
  trace.AddOp("fsdp::all_gather_copy_in",
              {Value{ValueList{TensorValue(1, {8}), TensorValue(2, {64})}}, part(0, {144}),
               Value{ValueList{Number(8), Number(64)}}, Number(72), Number(1)},
              {part(72, {72}), part(0, {144})});
  trace.AddTransfer(AllReduceSpec(288), part(72, {72}));
  for (Node& node : trace.nodes) {
    if (node.comm) {
      node.outputs = {part(0, {144})};
    }
  }
  trace.AddOp("fsdp::split_with_sizes_copy",
              {part(0, {2, 72}), Value{ValueList{Number(8), Number(64)}}, Number(1),
               Value{ValueList{TensorValue(4, {2, 8}), TensorValue(5, {2, 64})}}},
              {});
  trace.AddOp("aten::native_layer_norm",
              {TensorValue(6, {4, 16}), Value{ValueList{Number(16)}}, TensorValue(4, {16}), Value{},
               Value{1e-5}},
              {TensorValue(7, {4, 16}), TensorValue(8, {4, 1}), TensorValue(9, {4, 1})});
  trace.AddOp("aten::mm", {TensorValue(7, {4, 16}), TensorValue(5, {16, 8})},
              {TensorValue(10, {4, 8})});
  const auto lives = LivesOf(trace);
  EXPECT_GT(lives.at(1).floats.front().second.low, 0.5) << "a norm's weight";
  EXPECT_NEAR(lives.at(2).floats.front().second.high, std::sqrt(3.0 / 16), 1e-9);
}

TEST(InputValues, NormalisationsBeginAsAModelDoes) {
  ThreadTrace trace;
  trace.AddOp("aten::native_batch_norm",
              {TensorValue(1, {2, 3, 4, 4}), TensorValue(2, {3}), TensorValue(3, {3}),
               TensorValue(4, {3}), TensorValue(5, {3}), Value{true}, Value{0.1}, Value{1e-5}},
              {TensorValue(6, {2, 3, 4, 4}), TensorValue(7, {3}), TensorValue(8, {3})});
  const auto lives = LivesOf(trace);
  EXPECT_GT(lives.at(2).floats.front().second.low, 0.5);  // weight
  EXPECT_LT(lives.at(3).floats.front().second.low, 0);    // bias
  EXPECT_GT(lives.at(5).floats.front().second.low, 0.5);  // running variance
}

void LookUpRows(ThreadTrace& trace, std::int64_t indices, std::int64_t rows,
                std::vector<std::int64_t> shape) {
  std::vector<std::int64_t> out = shape;
  out.push_back(8);
  trace.AddOp(
      "aten::embedding",
      {TensorValue(90 + rows, {rows, 8}), TensorValue(indices, std::move(shape), DType::kInt64),
       Number(-1), Value{false}, Value{false}},
      {TensorValue(1000 + rows, out)});
}

TEST(InputValues, RecordedRangesCountAsFarAsEveryConsumerAllows) {
  ThreadTrace trace;
  LookUpRows(trace, 1, 100, {4, 4});
  LookUpRows(trace, 1, 60, {4, 4});
  LookUpRows(trace, 2, 50, {4, 4});
  const auto lives = LivesOf(trace, {{1, 5, 80}, {2, -3, 20}});
  EXPECT_EQ(lives.at(1).index_low, 5);
  EXPECT_EQ(lives.at(1).index_bound, 60);
  EXPECT_EQ(lives.at(2).index_low, 0);
  EXPECT_EQ(lives.at(2).index_bound, 21);
}

TEST(InputValues, AsManyIndicesAsRowsAreAPermutation) {
  ThreadTrace trace;
  LookUpRows(trace, 1, 100, {100});
  LookUpRows(trace, 2, 50, {20});
  const auto lives = LivesOf(trace);
  EXPECT_EQ(lives.at(1).order, IndexOrder::kPermutation);
  EXPECT_EQ(lives.at(2).order, IndexOrder::kScattered);
}

TEST(InputValues, BagsBeginInRisingOrder) {
  ThreadTrace trace;
  trace.AddOp("aten::_embedding_bag",
              {TensorValue(1, {50, 8}), TensorValue(2, {12}, DType::kInt64),
               TensorValue(3, {4}, DType::kInt64), Value{false}, Number(0), Value{false}, Value{},
               Value{false}, Number(-1)},
              {TensorValue(4, {4, 8}), TensorValue(5, {12}, DType::kInt64),
               TensorValue(6, {4}, DType::kInt64), TensorValue(7, {0}, DType::kInt64)});
  const auto lives = LivesOf(trace);
  EXPECT_EQ(lives.at(3).order, IndexOrder::kRising);
  EXPECT_EQ(lives.at(3).index_bound, 12);
  EXPECT_EQ(lives.at(2).index_bound, 50);
}

// What sorts is timed: nothing would write the indices that are looked up.
TEST(InputValues, IndicesThatNothingComputesAreValid) {
  ThreadTrace trace;
  trace.AddOp("aten::argsort", {TensorValue(1, {20}), Number(-1), Value{false}},
              {TensorValue(2, {20}, DType::kInt64)});
  LookUpRows(trace, 2, 30, {20});
  ReplayOptions options;
  options.op_modes[FindOperator("aten::argsort")->op_class] = ReplayMode::kTimed;
  const auto timed = LivesOf(trace, {}, options);
  EXPECT_TRUE(timed.at(2).persistent);
  EXPECT_EQ(timed.at(2).index_bound, 30);
  EXPECT_FALSE(LivesOf(trace).at(2).persistent) << "real results where there are";
}

}  // namespace
}  // namespace reprise
