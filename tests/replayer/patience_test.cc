// What takes longer than the watchdog's limit and is no standstill, in whole replays.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/replayer/replay_fixture.h"

namespace reprise {
namespace {

class PatienceTest : public ReplayTest {
 protected:
  void ExpectSuccess(int ranks, std::int64_t limit_ns, std::int64_t at_least_ns) {
    ReplayRequest request = Request();
    request.options.watchdog_ns = limit_ns;
    request.options.warmup = 0;
    request.options.iterations = 1;
    request.options.allow_slow = true;
    for (const Error& error : Run(request, ranks)) {
      ASSERT_EQ(error.message, "");
    }
    const auto run = ReadRun(request.run_directory);
    ASSERT_TRUE(run) << run.error().message;
    EXPECT_GE(run->ranks[0].steps.at(0).duration_ns, at_least_ns) << "nothing to be patient about";
  }
};

TEST_F(PatienceTest, AKernelWithinTenTimesItsEstimate) {
  constexpr std::int64_t kLimitNs = 30'000'000;
  constexpr std::int64_t kSize = 3072;  // takes 0.2 s and more
  ThreadTrace trace;
  trace.AddOp("aten::mm", {TensorValue(0, {kSize, kSize}), TensorValue(1, {kSize, kSize})},
              {TensorValue(2, {kSize, kSize})});
  WriteSet({trace});
  ExpectSuccess(1, kLimitNs, 3 * kLimitNs);
}

TEST_F(PatienceTest, RecordedTime) {
  ThreadTrace trace = Example();
  trace.Add("aten::view", OpKind::kMetadata, 900'000'000);
  trace.AddTransfer(AllReduceSpec(256, 2), TensorValue(3, {16, 16}));
  ThreadTrace other = Example();
  other.AddTransfer(AllReduceSpec(256, 2), TensorValue(3, {16, 16}));
  WriteSet({trace, other});
  ExpectSuccess(2, 250'000'000, 900'000'000);
}

// The others complete nothing while they wait for it.
TEST_F(PatienceTest, ARankThatIsSlowButProgresses) {
  ThreadTrace slow = Example();
  for (int i = 0; i < 30; ++i) {
    slow.Add("aten::view", OpKind::kMetadata, 40'000'000);
  }
  slow.AddTransfer(AllReduceSpec(256, 2), TensorValue(3, {16, 16}));
  ThreadTrace other = Example();
  other.AddTransfer(AllReduceSpec(256, 2), TensorValue(3, {16, 16}));
  WriteSet({other, slow, other});
  ExpectSuccess(3, 300'000'000, 1'200'000'000);
}

// The others have finished the iteration long before: longer than ranks wait between stages.
TEST_F(PatienceTest, ARankThatIsSlowToFinish) {
  constexpr std::int64_t kLimitNs = 300'000'000;
  ThreadTrace slow = Example();
  for (int i = 0; i < 22; ++i) {
    slow.Add("aten::view", OpKind::kMetadata, 150'000'000);
  }
  WriteSet({slow, Example(), Example()});
  ExpectSuccess(3, kLimitNs, 11 * kLimitNs);
}

}  // namespace
}  // namespace reprise
