// Counters beside a capture's events ("ph": "C"), and what a set keeps of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "converters/pytorch/kineto/counters.h"
#include "et_schema/header_lists.h"
#include "synthetic_capture.h"
#include "text_in_memory.h"

namespace reprise::pytorch {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

json Counter(const std::string& name, const json& process, double at_us, const json& args) {
  return {{"ph", "C"}, {"name", name}, {"pid", process}, {"ts", at_us}, {"args", args}};
}

KinetoTrace ReadEvents(std::vector<json> events, Diagnostics& diagnostics) {
  events.push_back({{"ph", "X"},
                    {"cat", "cpu_op"},
                    {"name", "aten::mm"},
                    {"pid", 1},
                    {"tid", 2},
                    {"ts", 100},
                    {"dur", 5}});
  auto trace = ReadKinetoText(
      "k.json", json{{"baseTimeNanoseconds", 5'000}, {"traceEvents", events}}.dump(), diagnostics);
  EXPECT_TRUE(trace) << trace.error().message;
  return trace ? std::move(*trace) : KinetoTrace{};
}

TEST(KinetoCounters, BecomeSeriesByDeviceAndQuantity) {
  Diagnostics diagnostics;
  const KinetoTrace trace = ReadEvents(
      {Counter("Power (W)", "GPU 1 Counters", 20, {{"", 412.5}}),
       Counter("SM Clock (MHz)", "GPU 0 Counters", 10, {{"", 1410}}),
       Counter("Power (W)", "GPU 1 Counters", 10.5, {{"", 300}}),
       Counter("Power (W)", "GPU 1 Counters", 20, {{"", 1}}),  // of one time: the first stays
       Counter("SM Active (%)", "GPU 1 Counters", 10, {{"", 62.5}})},
      diagnostics);
  const std::vector<SampledSeries> series = SeriesOf(trace.counters, 6'000);
  EXPECT_THAT(
      series,
      ElementsAre(
          SampledSeries{SampledQuantity::kSmClock, 0, {9'000}, {1'410'000'000'000'000}},
          SampledSeries{SampledQuantity::kPower, 1, {9'500, 19'000}, {300'000'000, 412'500'000}},
          SampledSeries{SampledQuantity::kSmActivity, 1, {9'000}, {625'000}}));
  EXPECT_EQ(diagnostics.CountOf("counter_left_out"), 0U);
}

TEST(KinetoCounters, OthersAreLeftOutAndCounted) {
  Diagnostics diagnostics;
  const KinetoTrace trace = ReadEvents(
      {Counter("Cycles (Current Kernel)", "GPU 0 Counters", 20, {{"", 141000}}),
       Counter("Power (W)", "somebody", 20, {{"", 1}}), Counter("Power (W)", 7, 20, {{"", 1}}),
       Counter("Power (W)", "GPU -1 Counters", 20, {{"", 1}}),
       Counter("Power (W)", "GPU 0 Counters", 20, {{"a", 1}, {"b", 2}})},
      diagnostics);
  EXPECT_THAT(trace.counters, IsEmpty());
  EXPECT_EQ(diagnostics.CountOf("counter_left_out"), 5U);
}

TEST(KinetoCounters, ValuesThatAreNoneAreDamage) {
  Diagnostics diagnostics;
  const KinetoTrace trace = ReadEvents({Counter("Power (W)", "GPU 0 Counters", 20, {{"", "much"}}),
                                        Counter("Power (W)", "GPU 0 Counters", 20, {{"", 1e300}}),
                                        Counter("Power (W)", "GPU 0 Counters", 1e300, {{"", 1}})},
                                       diagnostics);
  EXPECT_THAT(trace.counters, IsEmpty());
  EXPECT_EQ(diagnostics.CountOf("kineto_event_without_time"), 3U);
}

// Of a header that may say anything.
TEST(KinetoCounters, ListsOfAHeaderThatDoNotFitEndThere) {
  HeaderLists lists;
  lists.sample_names = {"power", "a later quantity", "power", "temperature", "sm_clock"};
  lists.sample_devices = {0, 0, 0, 1, 2};
  lists.sample_counts = {1, 1, 1, 2, 5};
  lists.sample_times_ns = {1, 2, 3, 4, 5, 6};
  lists.sample_millionths = {10, 20, 30, 40, 50, 60, 70};
  TraceMetadata metadata;
  SetLists(lists, metadata);
  EXPECT_THAT(metadata.samples,
              ElementsAre(SampledSeries{SampledQuantity::kPower, 0, {1}, {10}},
                          SampledSeries{SampledQuantity::kTemperature, 1, {4, 5}, {40, 50}}));
  lists.sample_counts = {-1};
  TraceMetadata none;
  SetLists(lists, none);
  EXPECT_THAT(none.samples, IsEmpty());
}

TEST(KinetoCounters, WhetherACallWaitsIsReadWithoutAHostTrace) {
  Diagnostics diagnostics;
  json record = {{"ph", "X"}, {"cat", "cpu_op"}, {"name", "record_param_comms"},
                 {"pid", 1},  {"tid", 2},        {"ts", 1},
                 {"dur", 1}};
  record["args"] = {{"Collective name", "allreduce"}, {"Is asynchronized op", true}};
  const KinetoTrace trace = ReadEvents({record}, diagnostics);
  ASSERT_NE(trace.events.at(0).comm, nullptr);
  EXPECT_TRUE(trace.events.at(0).comm->async);
}

}  // namespace
}  // namespace reprise::pytorch
