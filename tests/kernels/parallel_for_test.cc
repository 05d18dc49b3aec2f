// Work shared by cores: that it is done once, and that calls large enough to be shared compute the
// same.
#include "kernels/cpu/parallel_for.h"

#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <thread>

#include "kernels/bench/bench_cases.h"
#include "kernels/cpu/non_temporal_store.h"
#include "kernels/samples.h"
#include "tests/kernels/harness.h"
#include "tests/kernels/on_backend.h"

namespace reprise {
namespace {

using samples::Bool, samples::Double, samples::Int, samples::Ints, samples::None, samples::Text,
    samples::SampleTensors;

TEST(ParallelFor, CoverTheWholeOnce) {
  for (const std::int64_t count : {0, 1, 7, 1000, 100'003}) {
    for (const std::int64_t grain : {1, 64, 5000}) {
      std::vector<std::atomic<int>> seen(static_cast<std::size_t>(count));
      ParallelFor(count, grain, [&](std::int64_t begin, std::int64_t end) {
        ASSERT_TRUE(0 <= begin && begin < end && end <= count);
        for (std::int64_t i = begin; i < end; ++i) {
          ++seen[static_cast<std::size_t>(i)];
        }
      });
      EXPECT_TRUE(std::all_of(seen.begin(), seen.end(), [](const auto& n) { return n == 1; }))
          << count << " by " << grain;
    }
  }
}

TEST(ParallelFor, FromSeveralThreadsAndFromWithin) {
  std::atomic<std::int64_t> sum = 0;
  const auto add = [&](std::int64_t begin, std::int64_t end) {
    ParallelFor(end - begin, 1, [&](std::int64_t b, std::int64_t e) { sum += e - b; });
  };
  std::vector<std::thread> threads(4);
  for (std::thread& thread : threads) {
    thread = std::thread([&] {
      for (int round = 0; round < 50; ++round) {
        ParallelFor(1000, 10, add);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(sum, 4 * 50 * 1000);
}

// Whatever part of a line a run begins and ends with, and nothing beside it.
TEST(NonTemporalStore, CopiesEveryRun) {
  std::vector<char> from(400);
  std::iota(from.begin(), from.end(), static_cast<char>(1));
  for (const std::int64_t result_bytes : {std::int64_t{1}, std::int64_t{1} << 50}) {
    for (std::size_t first = 0; first < 66; ++first) {
      for (const std::size_t bytes : {0, 1, 63, 64, 65, 127, 200, 256}) {
        std::vector<char> to(400);
        NonTemporalStore(result_bytes).Copy(&to[first], &from[7], static_cast<std::int64_t>(bytes));
        std::vector<char> expected(400);
        std::copy_n(&from[7], bytes, &expected[first]);
        ASSERT_EQ(to, expected) << first << " " << bytes;
      }
    }
  }
}

TEST(NonTemporalStore, WritesEveryElementOnce) {
  for (const std::int64_t result_bytes : {std::int64_t{1}, std::int64_t{1} << 50}) {
    for (std::size_t before = 0; before < 17; ++before) {  // wherever in a line the first one is
      std::vector<float> y(2500 + before + 1, -1);
      float* const first_y = y.data() + before;
      // What is fetched ahead may be nobody's memory.
      NonTemporalStore(result_bytes)
          .Write(first_y, 2500, {first_y, first_y + (std::int64_t{1} << 30)},
                 [](std::int64_t first, float* to, std::int64_t count) {
                   std::iota(to, to + count, static_cast<float>(first));
                 });
      for (std::size_t i = 0; i < y.size(); ++i) {
        const bool inside = i >= before && i < before + 2500;
        ASSERT_EQ(y[i], inside ? static_cast<float>(i - before) : -1) << before;
      }
    }
  }
}

// The conformance tests' calls are too small for any of this.
class LargeCalls : public OnBackend {
 protected:
  void ExpectReference(const OpCall& call) {
    const Kernel* kernel = KernelRegistry::Builtin().Find(call);
    ASSERT_NE(kernel, nullptr);
    CallMemory expected(call);
    ASSERT_TRUE(kernel->Reference(call, expected));
    CallMemory actual(call);
    const Status run = CallRunner(*device_).Run(*kernel, call, actual);
    ASSERT_TRUE(run) << run.error().message;
    // Sums of a million terms.
    EXPECT_EQ(Difference(actual, expected, {.absolute = 2e-4, .relative = 1e-3}), "");
  }
};

TEST_P(LargeCalls, MatchReference) {
  std::vector<KernelBenchCase> cases;
  CaseList list{DType::kFloat32, 1, cases};
  AddMemoryBoundCases(list);
  for (const KernelBenchCase& one : cases) {
    SCOPED_TRACE(one.title);
    ExpectReference(one.call);
  }
}

// Rows of an odd length, the first of which begins within a cache line: so does each other one.
TEST_P(LargeCalls, MatchReferenceWhereverLinesBegin) {
  constexpr std::int64_t kRows = 1500;
  constexpr std::int64_t kWidth = 1111;
  SampleTensors s;
  const auto rows = [&] {
    return Value{s.Strided(DType::kFloat32, {kRows, kWidth}, {kWidth, 1}, /*offset=*/3)};
  };
  const auto of_each = [&](std::vector<std::int64_t> shape) {
    return Value{s.Tensor(DType::kFloat32, std::move(shape))};
  };
  const Value x = rows(), y = rows(), g = rows();
  const Value w = of_each({kWidth}), b = of_each({kWidth}), dw = of_each({kWidth});
  const Value db = of_each({kWidth});
  const Value mean = of_each({kRows, 1}), rstd = of_each({kRows, 1});
  const Value all{ValueList{Bool(true), Bool(true), Bool(true)}};
  const std::vector<OpCall> calls = {
      {"aten::gelu", {x, Text("none")}, {y}},
      {"aten::gelu_backward", {g, x, Text("none")}, {y}},
      {"aten::add", {x, w, Int(1)}, {y}},
      {"aten::_softmax", {x, Int(1), Bool(false)}, {y}},
      {"aten::_log_softmax", {x, Int(1), Bool(false)}, {y}},
      {"aten::native_layer_norm", {x, Ints({kWidth}), w, b, Double(1e-5)}, {y, mean, rstd}},
      {"aten::native_layer_norm_backward",
       {g, x, Ints({kWidth}), mean, rstd, w, b, all},
       {y, dw, db}},
      {"aten::uniform_", {y, Double(-1), Double(2), None()}, {y}},
      {"aten::bernoulli_", {y, Double(0.3), None()}, {y}},
  };
  for (const OpCall& call : calls) {
    SCOPED_TRACE(call.name);
    ExpectReference(call);
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, LargeCalls, testing::ValuesIn(BackendNames()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace reprise
