#include "core/timing/steps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace reprise {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

TEST(Steps, LastFromTheEndOfAllWorkOfTheStepBefore) {
  const std::vector<std::int64_t> ends = {110, 205, 300};
  EXPECT_THAT(StepSpans(0, ends), ElementsAre(Pair(0, 110), Pair(110, 205), Pair(205, 300)));
}

TEST(Steps, WithoutWorkTakeNoTime) {
  const std::vector<std::int64_t> ends = {110, INT64_MIN, 300};
  EXPECT_THAT(StepSpans(5, ends), ElementsAre(Pair(5, 110), Pair(110, 110), Pair(110, 300)));
}

TEST(Steps, WhoseWorkEndsBeforeThatOfTheStepBeforeTakeNoTime) {
  const std::vector<std::int64_t> ends = {110, 90};
  EXPECT_THAT(StepSpans(0, ends), ElementsAre(Pair(0, 110), Pair(110, 110)));
}

// A host that marks steps of 10 while the device needs 30: steps of 30. What lies outside the marks
// (step −1) is in no step.
struct Ahead {
  std::vector<std::int32_t> step = {-1, 0, 0, 1, 1, -1};
  std::vector<std::int64_t> start_ns = {-5, 102, 105, 110, 135, 190};
  std::vector<std::int64_t> end_ns = {-1, 110, 135, 120, 165, 250};
  [[nodiscard]] StepNodes nodes() const { return {step, start_ns, end_ns}; }
};

TEST(Steps, OfARecordingComeBackFromItsNodes) {
  const Ahead ahead;
  const StepFrame frame = FrameOfSteps(ahead.nodes(), 2, 100, 170);
  EXPECT_EQ(frame.lead_ns, 2);
  EXPECT_EQ(frame.tail_ns, 5);
  EXPECT_THAT(StepSpans(frame, ahead.nodes()), ElementsAre(Pair(100, 135), Pair(135, 170)));
}

TEST(Steps, OfASlowerScheduleMoveWithItsNodes) {
  Ahead ahead;
  const StepFrame frame = FrameOfSteps(ahead.nodes(), 2, 100, 165);
  ahead.end_ns[2] = 165;    // the device needs 60
  ahead.start_ns[4] = 165;  // and the next step's device work waits for it
  ahead.end_ns[4] = 195;
  EXPECT_THAT(StepSpans(frame, ahead.nodes()), ElementsAre(Pair(100, 165), Pair(165, 195)));
}

TEST(Steps, OfAPartMayBeginAfterItsFirstNode) {
  // Step 1 of the above alone: the host began it while the device was in step 0.
  const std::vector<std::int32_t> step = {0, 0};
  const std::vector<std::int64_t> start_ns = {110, 135}, end_ns = {120, 165};
  const StepFrame frame = FrameOfSteps({step, start_ns, end_ns}, 1, 135, 165);
  EXPECT_EQ(frame.lead_ns, -25);
  EXPECT_THAT(StepSpans(frame, {step, start_ns, end_ns}), ElementsAre(Pair(135, 165)));
}

}  // namespace
}  // namespace reprise
