// The ranges that a program marked, from captures into the trace's metadata.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "converters/pytorch/rank/stages.h"
#include "synthetic_capture.h"

namespace reprise::pytorch {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> Names(const std::vector<Range>& ranges) {
  std::vector<std::string> names;
  for (const Range& range : ranges) {
    names.push_back(range.name);
  }
  return names;
}

SyntheticOp Marked(std::string name, double start_us, double duration_us) {
  return {.name = std::move(name),
          .start_us = start_us,
          .duration_us = duration_us,
          .category = "user_annotation",
          .scope = 7};
}

TEST(Ranges, AreKeptByThreadAndStepWithoutStepsAndTransfers) {
  SyntheticCapture capture;
  capture.Step(0, 400).Step(400, 400);
  capture.Add(Marked("forward", 10, 100));
  capture.Add(Marked("block", 10, 20));
  capture.Add({.name = "aten::relu", .start_us = 12, .duration_us = 5});
  capture.Add(Marked("forward", 450, 100));
  capture.AllReduce(600, 610, 650, 3, 16);
  const auto traces = ConvertAll("ranges", {capture});
  ASSERT_TRUE(traces) << traces.error().message;
  const TraceMetadata& metadata = traces->front().metadata;
  EXPECT_THAT(Names(metadata.ranges), ElementsAre("forward", "block", "forward"));
  const Range& last = metadata.ranges.back();
  EXPECT_EQ(last.start_ns, 450'000);
  EXPECT_EQ(last.duration_ns, 100'000);
  EXPECT_EQ(last.step, 1);
  EXPECT_EQ(metadata.ranges.front().step, 0);
  EXPECT_EQ(last.thread, traces->front().Find("aten::relu")->actor.id);
}

TEST(Ranges, WhatIsBeyondTheBoundIsCounted) {
  const std::string name = "loop";
  RankCapture rank;
  rank.label = "rank 0";
  for (std::int64_t i = 0; i < 5; ++i) {
    rank.list.operations.push_back(
        {.name = &name, .start_ns = i * 10, .end_ns = i * 10 + 5, .annotation = true});
  }
  rank.list.threads.push_back({.number = 1, .first = 0, .last = 5});
  const std::vector<Range> ranges = FindRanges(rank, 3);
  ASSERT_EQ(ranges.size(), 3U);
  EXPECT_EQ(ranges.back().start_ns, 20);  // the first ones are kept
  EXPECT_EQ(rank.diagnostics.CountOf("range_left_out"), 2U);
  rank.kineto.untimed = true;
  EXPECT_THAT(FindRanges(rank), IsEmpty());
}

}  // namespace
}  // namespace reprise::pytorch
