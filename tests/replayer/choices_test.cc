#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/text.h"
#include "replayer/device_choice.h"
#include "replayer/plan/option_texts.h"

namespace reprise {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Choices, Numbers) {
  EXPECT_THAT(*ParseNumbers("0-3,6", "--ranks"), ElementsAre(0, 1, 2, 3, 6));
  EXPECT_EQ(NumbersText(std::vector<int>{0, 1, 2, 3, 6}), "0-3,6");
  for (const char* wrong : {"", "a", "3-1", "1,,2", "1,1", "-1", "0-", "1-3,2"}) {
    EXPECT_FALSE(ParseNumbers(wrong, "--ranks")) << wrong;
  }
}

TEST(Choices, TimeScaleByClass) {
  ReplayOptions options;
  ASSERT_TRUE(ParseTimeScale("0.5", options));
  EXPECT_EQ(options.TimeScaleOf(OpClass::kGemm), 0.5);
  ASSERT_TRUE(ParseTimeScale("gemm=2,comm=0,rest=1", options));
  EXPECT_EQ(options.TimeScaleOf(OpClass::kGemm), 2);
  EXPECT_EQ(options.TimeScaleOf(OpClass::kComm), 0);
  EXPECT_EQ(options.TimeScaleOf(OpClass::kNorm), 1);
  for (const char* wrong : {"x", "gemm=", "gemm=-1", "made_up=1", "nan"}) {
    EXPECT_FALSE(ParseTimeScale(wrong, options)) << wrong;
  }
}

TEST(Choices, StretchByClass) {
  ReplayOptions options;
  ASSERT_TRUE(ParseStretch("1.5,conv=2", options));
  EXPECT_EQ(options.StretchOf(OpClass::kGemm), 1.5);
  EXPECT_EQ(options.StretchOf(OpClass::kConv), 2);
  const auto described = DescribeTimes(options);
  EXPECT_EQ(described.at("stretch"), "1.5");
  EXPECT_EQ(described.at("stretch.conv"), "2");
  for (const char* wrong : {"0.9", "conv=0.5", "conv", "made_up=2", "inf", "1001"}) {
    EXPECT_FALSE(ParseStretch(wrong, options)) << wrong;
  }
}

TEST(Choices, TheRestIsWhatIsNotNamed) {
  ReplayOptions options;
  ASSERT_TRUE(ParseOpModes("gemm=real,other=timed", options));
  EXPECT_EQ(options.ModeOf(OpClass::kGemm), ReplayMode::kReal);
  EXPECT_EQ(options.ModeOf(OpClass::kNorm), ReplayMode::kTimed);
  EXPECT_EQ(options.ModeOf(OpClass::kOther), ReplayMode::kTimed);
  ASSERT_TRUE(ParseCommModes("rest=skip,all_reduce=real", options));
  EXPECT_EQ(options.ModeOf(CommKind::kBroadcast), ReplayMode::kSkip);
}

std::vector<DeviceInfo> Devices(std::initializer_list<bool> cpu) {
  std::vector<DeviceInfo> devices;
  for (const bool is_cpu : cpu) {
    devices.emplace_back().is_cpu = is_cpu;
  }
  return devices;
}

std::vector<int> Chosen(const ReplayOptions& options, const std::vector<DeviceInfo>& devices) {
  constexpr int kRanks = 5;
  std::vector<int> chosen;
  chosen.reserve(kRanks);
  for (int rank = 0; rank < kRanks; ++rank) {
    chosen.push_back(ChooseDevice(options, devices, rank, kRanks).value_or(-1));
  }
  return chosen;
}

TEST(DeviceChoice, GpusTakeTurnsUnlessToldOtherwise) {
  ReplayOptions options;
  EXPECT_THAT(Chosen(options, Devices({true, false, false})), ElementsAre(1, 2, 1, 2, 1));
  EXPECT_THAT(Chosen(options, Devices({true})), ElementsAre(0, 0, 0, 0, 0));
  options.device_index = 2;
  EXPECT_THAT(Chosen(options, Devices({true, false, false})), ElementsAre(2, 2, 2, 2, 2));
}

TEST(DeviceChoice, Maps) {
  ReplayOptions options;
  ASSERT_TRUE(ParseDeviceMap("packed", options));
  EXPECT_THAT(Chosen(options, Devices({false, false})), ElementsAre(0, 0, 0, 1, 1));
  ASSERT_TRUE(ParseDeviceMap("round-robin", options));
  EXPECT_THAT(Chosen(options, Devices({false, false})), ElementsAre(0, 1, 0, 1, 0));
  ASSERT_TRUE(ParseDeviceMap("0:0,1:0,2:1,3:2", options));
  EXPECT_THAT(Chosen(options, Devices({false, false})), ElementsAre(0, 0, 1, -1, -1));
  EXPECT_THAT(ChooseDevice(options, Devices({false, false}), 3, 5).error().message,
              HasSubstr("device 2, but there are 2"));
  for (const char* wrong : {"0", "0:", "0:0,0:1", "a:b", "folded"}) {
    ReplayOptions fresh;
    EXPECT_FALSE(ParseDeviceMap(wrong, fresh)) << wrong;
  }
}

}  // namespace
}  // namespace reprise
