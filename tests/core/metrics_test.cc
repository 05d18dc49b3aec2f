#include "core/metrics.h"

#include <gtest/gtest.h>

namespace reprise {
namespace {

TEST(Metrics, KindsHaveNamesBothWays) {
  for (const auto kind :
       {MetricKind::kGauge, MetricKind::kCounter, MetricKind::kEnergy, MetricKind::kState}) {
    EXPECT_EQ(ParseName<MetricKind>(Name(kind)), kind);
  }
  EXPECT_FALSE(ParseName<MetricKind>("gauges"));
}

TEST(Metrics, NamesOfStatesAreByBit) {
  using Names = std::vector<std::string_view>;
  EXPECT_EQ(StateNames("idle,power_cap,thermal"), (Names{"idle", "power_cap", "thermal"}));
  EXPECT_EQ(StateNames("idle"), Names{"idle"});
  EXPECT_EQ(StateNames(",,thermal"), (Names{"", "", "thermal"}));
  EXPECT_EQ(StateNames(""), Names{});
}

// OpenCL gives bytes, NVML text with a prefix, AMD's libraries bytes or bare digits.
TEST(Metrics, OneSpellingOfAUuid) {
  const unsigned char bytes[16] = {0x8d, 0x2c, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 0xff};
  const std::string text = "8d2c0001-0203-0405-0607-08090a0b0cff";
  EXPECT_EQ(UuidText(bytes), text);
  EXPECT_EQ(NormalizeUuid("GPU-8D2C0001-0203-0405-0607-08090a0b0cff"), text);
  EXPECT_EQ(NormalizeUuid("8d2c000102030405060708090a0b0cff"), text);
  EXPECT_EQ(NormalizeUuid("GPU-123"), "");
  EXPECT_EQ(NormalizeUuid("GPU-8D2C0001-0203-0405-0607-08090a0b0cfg"), "");
}

TEST(Metrics, OneSpellingOfAPciBusId) {
  EXPECT_EQ(NormalizePciBusId("00000000:1B:00.0"), "0000:1b:00.0");
  EXPECT_EQ(NormalizePciBusId("0000:1b:00.0"), "0000:1b:00.0");
  EXPECT_EQ(NormalizePciBusId("10000:01:00.1"), "00010000:01:00.1");
  for (const char* no : {"", "1b:00.0", "0000:1b:00", "0000:1b:00.0 ", "x:1b:00.0"}) {
    EXPECT_EQ(NormalizePciBusId(no), "") << no;
  }
}

}  // namespace
}  // namespace reprise
