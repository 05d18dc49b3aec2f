// What tracing took: a made-up recording whose true times are known.
#include "converters/pytorch/edges/tracing_cost.h"

#include <gtest/gtest.h>

#include <cmath>

namespace reprise::pytorch {
namespace {

constexpr std::int64_t kBegin = 4'000, kEnd = 8'000;  // within a call's times
constexpr std::int64_t kHalf = 3'000;                 // outside, on either side
constexpr std::int64_t kPython = 10'000, kWork = 100'000;
constexpr int kTracedLayers = 30;

// kTracedLayers times aten::linear, which calls aten::t and aten::mm, which calls aten::resize_.
// Only aten::mm takes time of its own; Python takes some between two layers.
class Recording {
 public:
  Recording() {
    rank.steps.push_back({});
    for (int layer = 0; layer < kTracedLayers; ++layer) {
      now_ns_ += kPython;
      Enter(linear_, OpKind::kComposite);
      Item(Enter(t_, OpKind::kMetadata), [] {});
      Item(Enter(mm_, OpKind::kWork), [this] {
        Enter(resize_, OpKind::kMetadata);
        Leave();
        now_ns_ += kWork;
      });
      Leave();
    }
    rank.list.loose = static_cast<std::int32_t>(rank.list.operations.size());
    rank.list.threads.push_back({.number = 1, .first = 0, .last = rank.list.loose});
    rank.steps[0].duration_ns = now_ns_;
  }
  [[nodiscard]] static std::int64_t UntracedNs() { return kTracedLayers * (kPython + kWork); }

  RankCapture rank;
  Timeline timeline;

 private:
  std::int32_t Enter(const std::string& name, OpKind kind) {
    const auto i = static_cast<std::int32_t>(rank.list.operations.size());
    now_ns_ += kHalf;
    rank.list.operations.push_back(
        {.name = &name, .start_ns = now_ns_, .parent = open_.empty() ? -1 : open_.back()});
    rank.roles.push_back({.info = {.kind = kind}});
    now_ns_ += kBegin;
    open_.push_back(i);
    return i;
  }
  void Leave() {
    now_ns_ += kEnd;
    rank.list.operations[static_cast<std::size_t>(open_.back())].end_ns = now_ns_;
    open_.pop_back();
    now_ns_ += kHalf;
  }
  template <typename Body>
  void Item(std::int32_t operation, const Body& body) {
    body();
    Leave();
    const Operation& op = rank.list.operations[static_cast<std::size_t>(operation)];
    timeline.items.push_back(
        {.operation = operation, .thread = 0, .start_ns = op.start_ns, .end_ns = op.end_ns});
  }

  const std::string linear_ = "aten::linear", t_ = "aten::t", mm_ = "aten::mm",
                    resize_ = "aten::resize_";
  std::int64_t now_ns_ = 0;
  std::vector<std::int32_t> open_;
};

TEST(TracingCost, IsWhatCallsThatComputeNothingTake) {
  const Recording recording;
  const TracingCost cost = EstimateTracingCost(recording.rank);
  EXPECT_NEAR(cost.within_ns, kBegin + kEnd, 1);
  EXPECT_NEAR(cost.outside_ns, 2 * kHalf, 1);
}

TEST(TracingCost, IsTakenFromNodesAndGapsByTheCallsInThem) {
  Recording recording;
  SpreadTracingCost(recording.rank, EstimateTracingCost(recording.rank), recording.timeline);
  std::int64_t untraced_ns = 0, end_ns = 0;
  for (const Item& item : recording.timeline.items) {
    const bool work = item.operation % 4 == 2;
    EXPECT_NEAR(item.end_ns - item.start_ns - item.tracing_ns, work ? kWork : 0, 2);
    EXPECT_NEAR(item.start_ns - end_ns - item.tracing_before_ns, work ? 0 : kPython, 2);
    untraced_ns += item.end_ns - end_ns - item.tracing_ns - item.tracing_before_ns;
    end_ns = item.end_ns;
  }
  EXPECT_NEAR(untraced_ns, Recording::UntracedNs(), 100);
}

TEST(TracingCost, AddsUpToTheUntracedStepWhereThatIsNear) {
  Recording recording;
  const std::int64_t step_ns = recording.rank.steps[0].duration_ns;
  const double measured_ns = static_cast<double>(step_ns - Recording::UntracedNs());
  const double calls = 4 * kTracedLayers;
  recording.rank.meta.untraced_step_ns = step_ns - std::llround(1.25 * measured_ns);
  EXPECT_NEAR(EstimateTracingCost(recording.rank).PerCall() * calls, 1.25 * measured_ns, calls);
  recording.rank.meta.untraced_step_ns = step_ns - std::llround(0.25 * measured_ns);
  EXPECT_NEAR(EstimateTracingCost(recording.rank).PerCall() * calls, measured_ns, calls);
}

TEST(TracingCost, ComparesTheMedianStepWithTheUntracedOne) {
  Recording recording;
  const std::int64_t step_ns = recording.rank.steps[0].duration_ns / 3;
  const double measured_ns = static_cast<double>(3 * step_ns - Recording::UntracedNs()) / 3;
  recording.rank.steps.assign(3, recording.rank.steps[0]);
  recording.rank.steps[0].duration_ns = 5 * step_ns;  // held up
  recording.rank.steps[1].duration_ns = step_ns;
  recording.rank.steps[2].duration_ns = step_ns - std::llround(0.1 * measured_ns);
  const double calls = 4.0 * kTracedLayers / 3;
  recording.rank.meta.untraced_step_ns = step_ns - std::llround(1.25 * measured_ns);
  EXPECT_NEAR(EstimateTracingCost(recording.rank).PerCall() * calls, 1.25 * measured_ns, calls);
}

TEST(TracingCost, TakesWhatAShortCallCannotGiveFromGapsNotFromLongCalls) {
  Recording recording;
  constexpr double kTooMuch = 1.2;
  const TracingCost cost{kTooMuch * (kBegin + kEnd), kTooMuch * 2 * kHalf};
  SpreadTracingCost(recording.rank, cost, recording.timeline);
  for (const Item& item : recording.timeline.items) {
    const bool work = item.operation % 4 == 2;
    const double inside_ns =
        2 * cost.within_ns + cost.outside_ns;  // aten::mm's and aten::resize_'s
    // What the last layer's short call lacks has no gap behind it: all calls give 0.2 us in all.
    EXPECT_NEAR(item.tracing_ns, work ? inside_ns : kBegin + kEnd, 200);
  }
}

TEST(TracingCost, NeverTakesMoreThanThereIs) {
  Recording recording;
  const TracingCost tenfold{10.0 * (kBegin + kEnd), 20.0 * kHalf};
  SpreadTracingCost(recording.rank, tenfold, recording.timeline);
  std::int64_t end_ns = 0;
  for (const Item& item : recording.timeline.items) {
    EXPECT_EQ(item.tracing_ns, item.end_ns - item.start_ns);
    EXPECT_EQ(item.tracing_before_ns, item.start_ns - end_ns);
    end_ns = item.end_ns;
  }
}

TEST(TracingCost, IsUnknownWithoutTimesOrEnoughCalls) {
  Recording recording;
  recording.rank.kineto.untimed = true;
  EXPECT_EQ(EstimateTracingCost(recording.rank).PerCall(), 0);
  EXPECT_EQ(EstimateTracingCost(RankCapture()).PerCall(), 0);
}

}  // namespace
}  // namespace reprise::pytorch
