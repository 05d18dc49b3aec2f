// NVML against its stand-ins: units, wraps, lost GPUs, old drivers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/telemetry/source_reading.h"
#include "tests/telemetry/stand_in.h"

namespace reprise {
namespace {

using ::testing::HasSubstr;

TEST(Nvml, ReadsEveryMetricInItsUnit) {
  const StandIn nvml(STAND_IN_NVML);
  const auto opened = OpenLibrarySource("nvml", nvml.path());
  ASSERT_NE(opened.source, nullptr) << opened.why_not;
  EXPECT_TRUE(opened.source->MayBlock());
  const std::map<std::string, double> expected = {
      {"power", 400},
      {"average_power", 300},
      {"memory_power", 60},
      {"power_limit", 700},
      {"gpu_energy", 0},
      {"temperature", 45},
      {"memory_temperature", 55},
      {"sm_clock", 1755e6},
      {"memory_clock", 2619e6},
      {"max_sm_clock", 1980e6},
      {"utilization", 0.9},
      {"memory_utilization", 0.4},
      {"memory_used", 1e9},
      {"throttle_reasons", 0},
      {"clock_settings", 0},
      {"throttle_power_time", 0},
      {"throttle_thermal_time", 0},
      {"throttle_sync_boost_time", 0},
      {"throttle_board_limit_time", 0},
      {"throttle_reliability_time", 0},
      {"throttle_sw_thermal_time", 0},
      {"throttle_hw_thermal_time", 0},
      {"throttle_power_brake_time", 0},
      {"pcie_tx", 0},
      {"pcie_rx", 0},
      {"nvlink_tx", 0},
      {"nvlink_rx", 0},
      {"ecc_corrected", 0},
      {"ecc_uncorrected", 0},
      {"pcie_replays", 0},
      {"performance_state", 0},
  };
  ExpectValues(ReadOne(*opened.source), expected);
  EXPECT_EQ(FindMetric(*opened.source, "gpu_energy")->kind, MetricKind::kEnergy);
  EXPECT_EQ(FindMetric(*opened.source, "pcie_tx")->kind, MetricKind::kCounter);
}

TEST(Nvml, ReadsAllFieldsOfAGpuInOneCall) {
  const StandIn nvml(STAND_IN_NVML);
  const auto opened = OpenLibrarySource("nvml", nvml.path());
  const double before = nvml.Get("field_calls");
  (void)ReadAll(*opened.source);
  EXPECT_EQ(nvml.Get("field_calls"), before + 1);
}

TEST(Nvml, CountersGrowFromTheFirstReadingThroughWrapsAndResets) {
  const StandIn nvml(STAND_IN_NVML);
  nvml.Set("0.field.197.0.type", 1);  // unsigned int
  const auto opened = OpenLibrarySource("nvml", nvml.path());
  (void)ReadOne(*opened.source);
  nvml.Set("0.field.197.0", 704);  // from 2^32 - 296
  nvml.Set("0.field.138.4294967295", 1003);
  nvml.Set("0.field.74.0", 1.5e9);
  nvml.Set("0.energy", 125456);
  auto values = ReadOne(*opened.source);
  EXPECT_DOUBLE_EQ(values["pcie_tx"], 1000);
  EXPECT_DOUBLE_EQ(values["nvlink_tx"], 3 * 1024);
  EXPECT_DOUBLE_EQ(values["throttle_power_time"], 0.5);
  EXPECT_DOUBLE_EQ(values["gpu_energy"], 2);
  nvml.Set("0.energy", 10);  // the driver was loaded anew
  EXPECT_DOUBLE_EQ(ReadOne(*opened.source)["gpu_energy"], 2);
  nvml.Set("0.energy", 1010);
  EXPECT_DOUBLE_EQ(ReadOne(*opened.source)["gpu_energy"], 3);
}

TEST(Nvml, EnergyThatWrapsAt32BitsGoesOn) {
  const StandIn nvml(STAND_IN_NVML);
  nvml.Set("0.energy", 4294967296. - 500);
  const auto opened = OpenLibrarySource("nvml", nvml.path());
  (void)ReadOne(*opened.source);
  nvml.Set("0.energy", 1500);
  EXPECT_DOUBLE_EQ(ReadOne(*opened.source)["gpu_energy"], 2);
}

TEST(Nvml, TellsThrottlingFromSettings) {
  const StandIn nvml(STAND_IN_NVML);
  const auto opened = OpenLibrarySource("nvml", nvml.path());
  nvml.Set("0.reasons", 0x1 + 0x4 + 0x20 + 0x80 + 0x100);
  const auto values = ReadOne(*opened.source);
  EXPECT_EQ(FindMetric(*opened.source, "throttle_reasons")->states,
            "power_cap,hw_slowdown,sync_boost,sw_thermal,hw_thermal,hw_power_brake");
  EXPECT_DOUBLE_EQ(values.at("throttle_reasons"), 1 + 8 + 32);
  EXPECT_EQ(FindMetric(*opened.source, "clock_settings")->states,
            "idle,applications_clocks,display_clocks");
  EXPECT_DOUBLE_EQ(values.at("clock_settings"), 1 + 4);
}

TEST(Nvml, LeavesOutWhatAGpuDoesNotSupport) {
  const StandIn nvml(STAND_IN_NVML);
  nvml.Set("0.field.82.0.error", 3);
  nvml.Set("0.nvmlDeviceGetTotalEnergyConsumption.error", 3);
  nvml.Set("0.field.186.2", 400000);  // knows no scopes: the memory "takes" what the GPU takes
  const auto opened = OpenLibrarySource("nvml", nvml.path());
  ASSERT_NE(opened.source, nullptr);
  EXPECT_EQ(FindMetric(*opened.source, "memory_temperature"), nullptr);
  EXPECT_EQ(FindMetric(*opened.source, "gpu_energy"), nullptr);
  EXPECT_EQ(FindMetric(*opened.source, "memory_power"), nullptr);
  for (const auto& [name, value] : ReadAll(*opened.source)) {
    EXPECT_TRUE(std::isfinite(value)) << name;
  }
}

// What fails at opening for another reason may work later.
TEST(Nvml, KeepsWhatFailsForTheMoment) {
  const StandIn nvml(STAND_IN_NVML);
  nvml.Set("0.nvmlDeviceGetTemperature.error", 999);
  const auto opened = OpenLibrarySource("nvml", nvml.path());
  EXPECT_TRUE(std::isnan(ReadOne(*opened.source).at("temperature")));
  nvml.Set("0.nvmlDeviceGetTemperature.error", 0);
  EXPECT_DOUBLE_EQ(ReadOne(*opened.source).at("temperature"), 45);
}

TEST(Nvml, OldDriversGiveWhatTheyHave) {
  const StandIn nvml(STAND_IN_NVML_OLD);
  const auto opened = OpenLibrarySource("nvml", nvml.path());
  ASSERT_NE(opened.source, nullptr) << opened.why_not;
  const auto values = ReadOne(*opened.source);
  EXPECT_DOUBLE_EQ(values.at("power"), 350);  // no fields: the driver's own average
  EXPECT_DOUBLE_EQ(values.at("throttle_reasons"), 1);
  EXPECT_FALSE(values.contains("average_power"));
  EXPECT_FALSE(values.contains("gpu_energy"));
  nvml.Set("0.violation.0", 7e8);
  EXPECT_DOUBLE_EQ(ReadOne(*opened.source).at("throttle_power_time"), 0.2);
}

TEST(Nvml, ALostGpuGivesNaNAndTheOthersGoOn) {
  const StandIn nvml(STAND_IN_NVML);
  nvml.Set("gpus", 2);
  const auto opened = OpenLibrarySource("nvml", nvml.path());
  ASSERT_EQ(opened.source->devices().size(), 2U);
  nvml.Set("0.error", 15);
  for (const auto& [name, value] : ReadAll(*opened.source)) {
    EXPECT_EQ(std::isnan(value), name.ends_with("gpu-0000:01:00.0")) << name;
  }
  nvml.Set("0.error", 0);
  for (const auto& [name, value] : ReadAll(*opened.source)) {
    EXPECT_TRUE(std::isfinite(value)) << name;
  }
}

TEST(Nvml, AGpuWithoutPermissionIsLeftOut) {
  const StandIn nvml(STAND_IN_NVML);
  nvml.Set("gpus", 2);
  nvml.Set("0.nvmlDeviceGetHandleByIndex_v2.error", 4);
  const auto opened = OpenLibrarySource("nvml", nvml.path());
  ASSERT_NE(opened.source, nullptr);
  ASSERT_EQ(opened.source->devices().size(), 1U);
  EXPECT_EQ(opened.source->devices()[0].pci_bus_id, "0000:02:00.0");
}

TEST(Nvml, SaysWhyNotAndWhatToDo) {
  const StandIn nvml(STAND_IN_NVML);
  const std::map<int, std::string> advice = {
      {9, "load the NVIDIA driver"}, {4, "/dev/nvidiactl"}, {18, "reboot"}, {999, "NVML 999"}};
  for (const auto& [error, text] : advice) {
    nvml.Set("nvmlInit_v2.error", error);
    const auto opened = OpenLibrarySource("nvml", nvml.path());
    EXPECT_EQ(opened.source, nullptr);
    EXPECT_THAT(opened.why_not, HasSubstr(text));
    EXPECT_THAT(opened.why_not, HasSubstr(nvml.path()));
  }
  nvml.Clear();
  nvml.Set("gpus", 0);
  EXPECT_THAT(OpenLibrarySource("nvml", nvml.path()).why_not, HasSubstr("no GPU"));
  nvml.Set("gpus", 1);
  nvml.Set("0.nvmlDeviceGetHandleByIndex_v2.error", 4);
  EXPECT_THAT(OpenLibrarySource("nvml", nvml.path()).why_not, HasSubstr("GPU 0"));
  EXPECT_THAT(OpenLibrarySource("nvml", STAND_IN_AMD_SMI).why_not, HasSubstr("has no nvmlInit_v2"));
  EXPECT_THAT(OpenLibrarySource("nvml", "/nowhere/lib.so").why_not, HasSubstr("/nowhere/lib.so"));
}

TEST(Nvml, ShutsTheLibraryDownOnce) {
  const StandIn nvml(STAND_IN_NVML);
  { const auto opened = OpenLibrarySource("nvml", nvml.path()); }
  EXPECT_EQ(nvml.Get("shutdowns"), 1);
  nvml.Set("nvmlInit_v2.error", 9);
  { const auto opened = OpenLibrarySource("nvml", nvml.path()); }
  EXPECT_EQ(nvml.Get("shutdowns"), 1) << "was never initialised";
}

}  // namespace
}  // namespace reprise
