// How readings of a clock become a mapping.
#include "core/host_clock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/clock.h"

namespace reprise {
namespace {

using ::testing::Eq;
using ::testing::Optional;

constexpr std::int64_t kSecondNs = 1'000'000'000;

TEST(HostClock, WithoutReadingsIsTheReference) {
  const HostClock clock({});
  EXPECT_EQ(clock.ToReference(123), 123);
  EXPECT_EQ(clock.UncertaintyNs(0, kSecondNs), 0);
}

TEST(HostClock, OneReadingTellsNoDriftAndItsUncertaintyGrows) {
  const HostClock clock({{.at_ns = kSecondNs, .offset_ns = 500, .uncertainty_ns = 20}});
  EXPECT_EQ(clock.ToReference(11 * kSecondNs), 11 * kSecondNs - 500);
  EXPECT_EQ(clock.UncertaintyNs(kSecondNs, kSecondNs), 20);
  EXPECT_EQ(clock.UncertaintyNs(kSecondNs, 11 * kSecondNs), 20 + 1'000'000);  // 100 ppm of 10 s
}

TEST(HostClock, ReadingsAreJoinedByLinesAndContinuedByTheOverallSlope) {
  // 10 ppm, then 30 ppm; unsorted as given.
  const HostClock clock(
      {{20 * kSecondNs, 401'000, 30}, {0, 1'000, 10}, {10 * kSecondNs, 101'000, 20}});
  EXPECT_EQ(clock.ToReference(5 * kSecondNs), 5 * kSecondNs - 51'000);
  EXPECT_EQ(clock.ToReference(15 * kSecondNs), 15 * kSecondNs - 251'000);
  EXPECT_DOUBLE_EQ(clock.drift(), 20e-6);
  EXPECT_EQ(clock.ToReference(21 * kSecondNs), 21 * kSecondNs - 421'000);
  EXPECT_EQ(clock.ToReference(-kSecondNs), -kSecondNs + 19'000);
  EXPECT_EQ(clock.UncertaintyNs(0, 20 * kSecondNs), 30);
  EXPECT_EQ(clock.UncertaintyNs(-2 * kSecondNs, 21 * kSecondNs), 30 + 200'000);
}

TEST(HostClock, NoiseOfReadingsCloseTogetherIsNoDrift) {
  const HostClock clock({{0, 0, 2'000'000}, {100'000'000, 2'000'000, 2'000'000}});  // 20,000 ppm
  EXPECT_EQ(clock.ToReference(10'100'000'000), 10'100'000'000 - 2'000'000 - 1'000'000);
}

TEST(HostClock, TheReferenceHasNoUncertainty) {
  EXPECT_EQ(HostClock({{0, 0, 0}}).UncertaintyNs(0, 1'000 * kSecondNs), 0);
}

TEST(ClockReadings, SurviveTheirText) {
  const std::vector<ClockReading> readings = {{1, -2, 3}, {4'000'000'000'000, 5, 6}};
  EXPECT_THAT(ParseReadings(ReadingsText(readings)), Optional(Eq(readings)));
  EXPECT_THAT(ParseReadings(""), Optional(::testing::IsEmpty()));
  for (const char* text : {"1 2", "1 2 3 4", "x", "1 2 3; y", "1 2 3;;4 5 6"}) {
    EXPECT_EQ(ParseReadings(text), std::nullopt) << text;
  }
}

TEST(WallClock, RelatesMonotonicToUnixTime) {
  const ClockReading reading = ReadWallClock();
  EXPECT_GT(reading.uncertainty_ns, 0);
  EXPECT_LE(reading.uncertainty_ns, 17 * kSecondNs);
  EXPECT_NEAR(static_cast<double>(MonotonicNs() - reading.offset_ns),
              static_cast<double>(WallClockNs()), 1e9);
}

}  // namespace
}  // namespace reprise
