#include "report/timeline/run_timeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "report/run/clocks.h"
#include "tests/report/synthetic_run.h"

namespace reprise {
namespace {

std::string PathOf(const Timeline& timeline, Timeline::Index track) {
  std::string path = timeline.tracks[track].name;
  for (Timeline::Index at = timeline.tracks[track].parent; at != Timeline::kNoTrack;
       at = timeline.tracks[at].parent) {
    path.insert(0, timeline.tracks[at].name + "/");
  }
  return path;
}

std::vector<const Timeline::Slice*> SlicesOn(const Timeline& timeline, const std::string& path) {
  std::vector<const Timeline::Slice*> slices;
  for (const Timeline::Slice& slice : timeline.slices) {
    if (PathOf(timeline, slice.track) == path) {
      slices.push_back(&slice);
    }
  }
  return slices;
}

TEST(RunTimeline, RecordedAboveReplayed) {
  RunData run = MakeRun();
  run.ranks[0].edges = {{2, 5, "launch", false}, {1, 2, "thread", false}};
  run.ranks[0].facts.trace_base_ns = 7000;
  run.ranks[1].facts.trace_base_ns = 7300;
  const RunTimeline drawn = TimelineOfRun(run, {});
  const Timeline& timeline = drawn.timeline;
  EXPECT_TRUE(drawn.notes.empty());
  const auto recorded = SlicesOn(timeline, "rank 0 on h/recorded/thread 1");
  ASSERT_EQ(recorded.size(), 4U);
  EXPECT_EQ(recorded[1]->start_ns, 700);
  EXPECT_EQ(recorded[1]->duration_ns, 200);
  EXPECT_EQ(recorded[1]->category, "elementwise");
  // Rank 1's recording began 300 ns after rank 0's.
  EXPECT_EQ(SlicesOn(timeline, "rank 1 on h/recorded/thread 1")[0]->start_ns, 300);
  // Iteration 0 is the warm-up: it lies before the recording, iteration 1 begins with it.
  const auto replayed = SlicesOn(timeline, "rank 1 on h/replayed/group tp");
  ASSERT_EQ(replayed.size(), 4U);
  EXPECT_EQ(replayed[0]->start_ns, -kIterationNs + 150);
  EXPECT_EQ(replayed[1]->start_ns, 150);
  EXPECT_EQ(replayed[1]->duration_ns, 110);
  const auto steps = SlicesOn(timeline, "rank 0 on h/iterations");
  ASSERT_EQ(steps.size(), 4U);
  EXPECT_EQ(steps[0]->name, "iteration 0 (warm-up)");
  EXPECT_EQ(steps[1]->start_ns, 0);
  // One arrow in the recording, one an iteration; none for order within a thread.
  EXPECT_EQ(timeline.flows.size(), 5U);
  for (const Timeline::Flow& flow : timeline.flows) {
    EXPECT_EQ(timeline.slices[flow.from].name, "op2");
    EXPECT_EQ(timeline.slices[flow.to].name, "op5");
  }
}

TEST(RunTimeline, ChoosesRankAndIteration) {
  const RunTimeline drawn = TimelineOfRun(MakeRun(), {.rank = 1, .iteration = 2});
  EXPECT_TRUE(SlicesOn(drawn.timeline, "rank 0 on h/iterations").empty());
  const auto steps = SlicesOn(drawn.timeline, "rank 1 on h/iterations");
  ASSERT_EQ(steps.size(), 1U);
  EXPECT_EQ(steps[0]->start_ns, 0);
  EXPECT_EQ(SlicesOn(drawn.timeline, "rank 1 on h/replayed/thread 1").size(), 2U);
  EXPECT_TRUE(TimelineOfRun(MakeRun(), {.rank = 9}).timeline.slices.empty());
  EXPECT_TRUE(
      SlicesOn(TimelineOfRun(MakeRun(), {.step = 1}).timeline, "rank 0 on h/recorded/thread 1")
          .empty());
}

TEST(RunTimeline, SaysWhichClocksAreUnrelated) {
  RunData run = MakeRun();
  EXPECT_EQ(TimelineOfRun(run, {}).notes.size(), 1U);  // recorded clocks
  run.ranks[1].host = "g";
  for (StepRecord& step : run.ranks[1].steps) {
    step.start_ns += 123'456'789;
  }
  const RunTimeline apart = TimelineOfRun(run, {});
  EXPECT_EQ(apart.notes.size(), 2U);
  EXPECT_EQ(SlicesOn(apart.timeline, "rank 1 on g/iterations")[1]->start_ns, 0);
  run.ranks[0].facts.clock_readings = {{0, 0, 0}};
  run.ranks[1].facts.clock_readings = {{0, 123'456'589, 5}, {1'000'000, 123'456'589, 5}};
  RelateClocks(run);
  const RunTimeline related = TimelineOfRun(run, {});
  EXPECT_EQ(related.notes.size(), 1U);
  EXPECT_EQ(SlicesOn(related.timeline, "rank 1 on g/iterations")[1]->start_ns, 200);
}

TEST(RunTimeline, CountersAreRatesOfTotals) {
  RunData run = MakeRun();
  run.ranks[0].metrics = {
      {0, "package_energy", "joules", "cpu0", "rapl", MetricKind::kEnergy, false, {}, {}, 0},
      {1, "temperature", "celsius", "cpu0", "hwmon", MetricKind::kGauge, false, {}, {}, 0}};
  const std::int64_t begin_ns = 2 * kIterationNs;
  run.ranks[0].samples = {{0, begin_ns, 5.0},
                          {0, begin_ns + 1'000'000'000, 25.0},
                          {0, begin_ns + 3'000'000'000, 35.0},
                          {1, begin_ns, 40.0},
                          {1, begin_ns + 1'000'000'000, std::nan("")}};
  const Timeline timeline = TimelineOfRun(run, {}).timeline;
  ASSERT_EQ(timeline.points.size(), 3U);
  EXPECT_EQ(PathOf(timeline, timeline.points[0].track),
            "rank 0 on h/telemetry/package_energy cpu0");
  EXPECT_EQ(timeline.tracks[timeline.points[0].track].unit, "watts");
  EXPECT_EQ(timeline.points[0].time_ns, 0);
  EXPECT_DOUBLE_EQ(timeline.points[0].value, 20);
  EXPECT_DOUBLE_EQ(timeline.points[1].value, 5);
  EXPECT_DOUBLE_EQ(timeline.points[2].value, 40);
  EXPECT_EQ(timeline.tracks[timeline.points[2].track].unit, "celsius");
}

}  // namespace
}  // namespace reprise
