// Work shared by cores: that it is done once, and that calls large enough to be shared compute the
// same.
#include "kernels/host/parts.h"

#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <thread>

#include "kernels/bench_cases.h"
#include "kernels/host/result_stream.h"
#include "tests/kernels/harness.h"

namespace reprise {
namespace {

TEST(Parts, CoverTheWholeOnce) {
  for (const std::int64_t count : {0, 1, 7, 1000, 100'003}) {
    for (const std::int64_t grain : {1, 64, 5000}) {
      std::vector<std::atomic<int>> seen(static_cast<std::size_t>(count));
      InParts(count, grain, [&](std::int64_t begin, std::int64_t end) {
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

TEST(Parts, FromSeveralThreadsAndFromWithin) {
  std::atomic<std::int64_t> sum = 0;
  const auto add = [&](std::int64_t begin, std::int64_t end) {
    InParts(end - begin, 1, [&](std::int64_t b, std::int64_t e) { sum += e - b; });
  };
  std::vector<std::thread> threads(4);
  for (std::thread& thread : threads) {
    thread = std::thread([&] {
      for (int round = 0; round < 50; ++round) {
        InParts(1000, 10, add);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(sum, 4 * 50 * 1000);
}

// Whatever part of a line a run begins and ends with, and nothing beside it.
TEST(ResultStream, CopiesEveryRun) {
  std::vector<char> from(400);
  std::iota(from.begin(), from.end(), static_cast<char>(1));
  for (const std::int64_t result_bytes : {std::int64_t{1}, std::int64_t{1} << 50}) {
    for (std::size_t first = 0; first < 66; ++first) {
      for (const std::size_t bytes : {0, 1, 63, 64, 65, 127, 200, 256}) {
        std::vector<char> to(400);
        ResultStream(result_bytes).Copy(&to[first], &from[7], static_cast<std::int64_t>(bytes));
        std::vector<char> expected(400);
        std::copy_n(&from[7], bytes, &expected[first]);
        ASSERT_EQ(to, expected) << first << " " << bytes;
      }
    }
  }
}

TEST(ResultStream, WritesEveryElementOnce) {
  for (const std::int64_t result_bytes : {std::int64_t{1}, std::int64_t{1} << 50}) {
    for (std::size_t before = 0; before < 17; ++before) {  // wherever in a line the first one is
      std::vector<float> y(2500 + before + 1, -1);
      float* const first_y = y.data() + before;
      // What is fetched ahead may be nobody's memory.
      ResultStream(result_bytes)
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

class LargeCalls : public testing::TestWithParam<const char*> {};

// The conformance tests' calls are too small for any of this.
TEST_P(LargeCalls, MatchReference) {
  std::string why;
  Device* device = TestDevice(GetParam(), &why);
  if (device == nullptr) {
    GTEST_SKIP() << why;
  }
  CallRunner runner(*device);
  std::vector<KernelBenchCase> cases;
  AppendMemoryBoundCases(DType::kFloat32, 1, cases);
  for (const KernelBenchCase& one : cases) {
    SCOPED_TRACE(one.title);
    const Kernel* kernel = KernelRegistry::Builtin().Find(one.call);
    ASSERT_NE(kernel, nullptr);
    CallMemory expected(one.call);
    ASSERT_TRUE(kernel->Reference(one.call, expected));
    CallMemory actual(one.call);
    const Status run = runner.Run(*kernel, one.call, actual);
    ASSERT_TRUE(run) << run.error().message;
    // Sums of a million terms.
    EXPECT_EQ(Difference(actual, expected, {.absolute = 2e-4, .relative = 1e-3}), "");
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, LargeCalls, testing::Values("host", "opencl"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace reprise
