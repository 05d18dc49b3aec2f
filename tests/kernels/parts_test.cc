// Work shared by cores: that it is done once, and that calls large enough to be shared compute the
// same.
#include "kernels/host/parts.h"

#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <thread>

#include "kernels/bench_cases.h"
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
