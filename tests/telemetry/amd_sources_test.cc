// AMD SMI against its stand-in: units, throttling, partitions, old libraries.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "tests/telemetry/source_reading.h"
#include "tests/telemetry/stand_in.h"

namespace reprise {
namespace {

using ::testing::HasSubstr;

TEST(AmdSmi, ReadsEveryMetricOfANewGpuInItsUnit) {
  const StandIn smi(STAND_IN_AMD_SMI);
  const auto opened = OpenLibrarySource("amd_smi", smi.path());
  ASSERT_NE(opened.source, nullptr) << opened.why_not;
  const std::map<std::string, double> expected = {
      {"power", 650},
      {"power_limit", 750},
      {"gpu_energy", 0},
      {"temperature", 61},  // no sensor at the edge
      {"hotspot_temperature", 61},
      {"memory_temperature", 52},
      {"sm_clock", 2050e6},  // mean of two dies
      {"memory_clock", 1300e6},
      {"max_sm_clock", 2100e6},
      {"utilization", 0.97},
      {"memory_utilization", 0.33},
      {"memory_used", 3e9},
      {"throttle_reasons", 0},
      {"throttle_power_time", 0},
      {"throttle_thermal_time", 0},
      {"throttle_vr_thermal_time", 0},
      {"throttle_memory_thermal_time", 0},
      {"throttle_prochot_time", 0},
      {"xgmi_tx", 5 * 1024},
      {"xgmi_rx", 30 * 1024},
      {"ecc_corrected", 4},
      {"ecc_uncorrected", 2},
      {"pcie_replays", 0},
  };
  ExpectValues(ReadOne(*opened.source), expected);
  smi.Set("0.energy", 1e6 + 1000);
  EXPECT_DOUBLE_EQ(ReadOne(*opened.source).at("gpu_energy"), 1000 * 15.25e-6);
  EXPECT_THAT(FindMetric(*opened.source, "gpu_energy")->help, HasSubstr("15.2 uJ"));
  ASSERT_EQ(opened.source->devices().size(), 1U);
  const MeteredDevice gpu = opened.source->devices()[0];
  EXPECT_EQ(gpu.device, "gpu-0000:c0:02.1");
  EXPECT_EQ(gpu.pci_bus_id, "0000:c0:02.1");
  EXPECT_EQ(gpu.uuid, "eaff7400-0000-1000-80ed-000000000000");
  EXPECT_EQ(gpu.name, "AMD Instinct MI300X");
}

// The library's counters say which share of the firmware's cycles a limit took.
TEST(AmdSmi, ThrottlingIsTheShareOfCyclesBetweenReadings) {
  const StandIn smi(STAND_IN_AMD_SMI);
  const auto opened = OpenLibrarySource("amd_smi", smi.path());
  std::this_thread::sleep_for(std::chrono::milliseconds(40));
  smi.Set("0.table.accumulation_counter", 1100);
  smi.Set("0.table.ppt_residency_acc", 150);
  smi.Set("0.table.hbm_thm_residency_acc", 100);
  auto values = ReadOne(*opened.source);
  EXPECT_DOUBLE_EQ(values["throttle_reasons"], 1 + 8);
  const double power_time = values["throttle_power_time"];
  EXPECT_GE(power_time, 0.020);
  EXPECT_DOUBLE_EQ(values["throttle_memory_thermal_time"], 2 * power_time);
  EXPECT_DOUBLE_EQ(values["throttle_thermal_time"], 0);
  values = ReadOne(*opened.source);  // no cycle since then: still so
  EXPECT_DOUBLE_EQ(values["throttle_reasons"], 1 + 8);
  EXPECT_DOUBLE_EQ(values["throttle_power_time"], power_time);
  smi.Set("0.table.accumulation_counter", 1200);
  values = ReadOne(*opened.source);
  EXPECT_DOUBLE_EQ(values["throttle_reasons"], 0);
  EXPECT_DOUBLE_EQ(values["throttle_power_time"], power_time);
  smi.Set("0.table.accumulation_counter", 3);  // reset with the GPU
  smi.Set("0.table.ppt_residency_acc", 1);
  EXPECT_DOUBLE_EQ(ReadOne(*opened.source)["throttle_power_time"], power_time);
}

TEST(AmdSmi, OlderGpusTellTheirStatus) {
  const StandIn smi(STAND_IN_AMD_SMI);
  smi.Set("older", 1);
  const auto opened = OpenLibrarySource("amd_smi", smi.path());
  auto values = ReadOne(*opened.source);
  EXPECT_FALSE(values.contains("power"));
  EXPECT_DOUBLE_EQ(values["average_power"], 480);
  EXPECT_DOUBLE_EQ(values["temperature"], 41);
  EXPECT_DOUBLE_EQ(values["sm_clock"], 1700e6);
  EXPECT_FALSE(values.contains("throttle_power_time"));
  EXPECT_FALSE(values.contains("xgmi_tx"));
  EXPECT_EQ(FindMetric(*opened.source, "throttle_reasons")->states,
            "power_cap,socket_thermal,vr_thermal,memory_thermal,prochot,current_limit");
  for (const auto& [bit, reasons] :
       std::map<int, int>{{0, 1}, {36, 2}, {38, 4}, {34, 8}, {47, 16}, {22, 32}, {57, 0}}) {
    smi.Set("0.table.indep_throttle_status", std::pow(2, bit));
    EXPECT_DOUBLE_EQ(ReadOne(*opened.source)["throttle_reasons"], reasons) << bit;
  }
}

// One that fails does not take the others with it; partitions are read once.
TEST(AmdSmi, SeveralGpusAndPartitions) {
  const StandIn smi(STAND_IN_AMD_SMI);
  smi.Set("sockets", 2);
  smi.Set("partitions", 8);
  const auto opened = OpenLibrarySource("amd_smi", smi.path());
  ASSERT_EQ(opened.source->devices().size(), 2U);
  smi.Set("1.error", 2);
  for (const auto& [name, value] : ReadAll(*opened.source)) {
    EXPECT_EQ(std::isnan(value), name.ends_with("gpu-0000:c1:02.1")) << name;
  }
}

TEST(AmdSmi, SaysWhyNotAndWhatToDo) {
  const StandIn smi(STAND_IN_AMD_SMI);
  for (const double release : {23, 27, 7}) {  // layouts that are not known
    smi.Set("release", release);
    const auto opened = OpenLibrarySource("amd_smi", smi.path());
    EXPECT_EQ(opened.source, nullptr);
    EXPECT_THAT(opened.why_not, HasSubstr("24 to 26"));
  }
  smi.Set("release", 24);
  smi.Set("amdsmi_init.error", 34);
  EXPECT_THAT(OpenLibrarySource("amd_smi", smi.path()).why_not,
              HasSubstr("load the amdgpu driver"));
  smi.Set("amdsmi_init.error", 10);
  EXPECT_THAT(OpenLibrarySource("amd_smi", smi.path()).why_not,
              HasSubstr("groups video and render"));
  smi.Set("amdsmi_init.error", 0);
  smi.Set("processor_type", 2);  // a CPU
  EXPECT_THAT(OpenLibrarySource("amd_smi", smi.path()).why_not, HasSubstr("no GPU"));
  EXPECT_EQ(smi.Get("shutdowns"), 1);
  EXPECT_THAT(OpenLibrarySource("amd_smi", STAND_IN_NVML).why_not, HasSubstr("has no amdsmi_init"));
}

}  // namespace
}  // namespace reprise
