#include <gtest/gtest.h>

#include <thread>

#include "core/clock.h"
#include "core/diagnostics.h"
#include "core/operators.h"
#include "core/result.h"
#include "core/value.h"

namespace reprise {
namespace {

TEST(Operators, ExactNameBeatsPrefix) {
  EXPECT_EQ(FindOperator("aten::mm")->op_class, OpClass::kGemm);
  EXPECT_EQ(FindOperator("aten::mm")->kind, OpKind::kWork);
  EXPECT_EQ(FindOperator("aten::view")->kind, OpKind::kMetadata);
  EXPECT_EQ(FindOperator("aten::_foreach_add_")->op_class, OpClass::kOptimizer);
  EXPECT_EQ(FindOperator("aten::_foreach_copy_")->op_class, OpClass::kCopy);
  EXPECT_EQ(FindOperator("_c10d_functional::wait_tensor")->kind, OpKind::kWait);
  EXPECT_EQ(FindOperator("_c10d_functional::all_reduce")->kind, OpKind::kComm);
  EXPECT_EQ(FindOperator("autograd::engine::evaluate_function: MmBackward0")->kind,
            OpKind::kComposite);
  EXPECT_EQ(FindOperator("aten::never_heard_of"), std::nullopt);
}

TEST(Operators, NamesParseBack) {
  for (int i = 0; i <= static_cast<int>(OpClass::kHost); ++i) {
    EXPECT_EQ(ParseName<OpClass>(Name(static_cast<OpClass>(i))), static_cast<OpClass>(i));
  }
  for (int i = 0; i <= static_cast<int>(OpKind::kComm); ++i) {
    EXPECT_EQ(ParseName<OpKind>(Name(static_cast<OpKind>(i))), static_cast<OpKind>(i));
  }
}

TEST(Diagnostics, CountsFromManyThreadsAndMerges) {
  Diagnostics diagnostics;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) {
        diagnostics.Count("odd", "node 7");
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  Diagnostics other;
  other.Count("odd", "node 8", 2);
  other.Merge(diagnostics);
  EXPECT_EQ(other.CountOf("odd"), 4002U);
  EXPECT_EQ(other.Snapshot().at("odd").examples.size(), Diagnostics::kMaxExamples);
  EXPECT_EQ(other.CountOf("never"), 0U);
}

TEST(Clock, WaitsUntilTheDeadlineAndNotBefore) {
  const std::int64_t deadline_ns = MonotonicNs() + 2'000'000;
  WaitUntilNs(deadline_ns);
  EXPECT_GE(MonotonicNs(), deadline_ns);
  WaitUntilNs(deadline_ns - 1);  // past deadlines return at once
}

Status FailsWhen(bool fail) {
  REPRISE_TRY(fail ? Status(BadInput("no")) : Status{});
  return {};
}
Result<int> Doubled(Result<int> value) {
  REPRISE_ASSIGN(const int number, std::move(value));
  return 2 * number;
}

TEST(Result, MacrosPropagate) {
  EXPECT_TRUE(FailsWhen(false));
  EXPECT_EQ(FailsWhen(true).error().message, "no");
  EXPECT_EQ(*Doubled(21), 42);
  EXPECT_EQ(Doubled(EnvironmentError("gone")).error().kind, ErrorKind::kEnvironment);
}

TensorDesc Tensor(std::vector<std::int64_t> shape, std::vector<std::int64_t> strides) {
  TensorDesc tensor;
  tensor.incarnation = 1;
  tensor.shape = std::move(shape);
  tensor.strides = std::move(strides);
  return tensor;
}

TEST(Value, GeometryOfTensors) {
  EXPECT_EQ(ContiguousStrides({2, 3, 4}), (std::vector<std::int64_t>{12, 4, 1}));
  EXPECT_TRUE(IsContiguous(Tensor({2, 1, 4}, {4, 99, 1})));
  EXPECT_FALSE(IsContiguous(Tensor({2, 4}, {1, 2})));
  EXPECT_EQ(ExtentElements(Tensor({2, 4}, {1, 2})), 8);
  EXPECT_EQ(ExtentElements(Tensor({3, 4}, {0, 1})), 4);
  EXPECT_EQ(ExtentElements(Tensor({0, 4}, {4, 1})), 0);
  EXPECT_EQ(ExtentElements(Tensor({}, {})), 1);
}

TEST(Value, FindsTensorsInNestedLists) {
  const Value tensor{Tensor({1}, {1})};
  const ValueList values = {Value{std::int64_t{3}},
                            Value{ValueList{tensor, Value{ValueList{tensor}}}},
                            Value{TensorDesc{}}};
  EXPECT_EQ(TensorsIn(values).size(), 2U);  // the undefined one is not counted
  const OpCall call{"x", {Value{ValueList{Value{std::int64_t{2}}, Value{true}}}, tensor}, {}};
  EXPECT_EQ(call.InputInts(0), (std::vector<std::int64_t>{2, 1}));
  EXPECT_NE(call.InputTensor(1), nullptr);
  EXPECT_EQ(call.InputTensor(0), nullptr);
  EXPECT_EQ(call.InputTensor(9), nullptr);
}

}  // namespace
}  // namespace reprise
