// GPU sources against the stand-in libraries: units, wraps, lost GPUs, old drivers and libraries.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <thread>

#include "tests/telemetry/source_reading.h"
#include "tests/telemetry/stand_in.h"

namespace reprise {
namespace {

using ::testing::DoubleEq;
using ::testing::HasSubstr;
using ::testing::Not;

SourceKind::Opened Open(std::string_view source, const std::string& library) {
  return OpenSource(source, {.libraries = {{std::string(source), library}}});
}

const Metric* Find(const Source& source, const std::string& name) {
  for (const Metric& metric : source.metrics()) {
    if (metric.name == name) {
      return &metric;
    }
  }
  return nullptr;
}

// The values of the only GPU, by metric.
std::map<std::string, double> ReadOne(Source& source) {
  std::map<std::string, double> values;
  for (const auto& [name, value] : ReadAll(source)) {
    values[name.substr(0, name.find(' '))] = value;
  }
  return values;
}

TEST(Nvml, ReadsEveryMetricInItsUnit) {
  const StandIn nvml(STAND_IN_NVML);
  const auto opened = Open("nvml", nvml.path());
  ASSERT_NE(opened.source, nullptr) << opened.why_not;
  EXPECT_TRUE(opened.source->MayBlock());
  const auto values = ReadOne(*opened.source);
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
  ASSERT_EQ(values.size(), expected.size());
  for (const auto& [name, value] : expected) {
    ASSERT_TRUE(values.contains(name)) << name;
    EXPECT_DOUBLE_EQ(values.at(name), value) << name;
  }
  EXPECT_EQ(Find(*opened.source, "gpu_energy")->kind, MetricKind::kEnergy);
  EXPECT_EQ(Find(*opened.source, "pcie_tx")->kind, MetricKind::kCounter);
}

TEST(Nvml, ReadsAllFieldsOfAGpuInOneCall) {
  const StandIn nvml(STAND_IN_NVML);
  const auto opened = Open("nvml", nvml.path());
  const double before = nvml.Get("field_calls");
  (void)ReadAll(*opened.source);
  EXPECT_EQ(nvml.Get("field_calls"), before + 1);
}

TEST(Nvml, CountersGrowFromTheFirstReadingThroughWrapsAndResets) {
  const StandIn nvml(STAND_IN_NVML);
  nvml.Set("0.field.197.0.type", 1);  // unsigned int
  const auto opened = Open("nvml", nvml.path());
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
  const auto opened = Open("nvml", nvml.path());
  (void)ReadOne(*opened.source);
  nvml.Set("0.energy", 1500);
  EXPECT_DOUBLE_EQ(ReadOne(*opened.source)["gpu_energy"], 2);
}

TEST(Nvml, TellsThrottlingFromSettings) {
  const StandIn nvml(STAND_IN_NVML);
  const auto opened = Open("nvml", nvml.path());
  nvml.Set("0.reasons", 0x1 + 0x4 + 0x20 + 0x80 + 0x100);
  const auto values = ReadOne(*opened.source);
  EXPECT_EQ(Find(*opened.source, "throttle_reasons")->states,
            "power_cap,hw_slowdown,sync_boost,sw_thermal,hw_thermal,hw_power_brake");
  EXPECT_DOUBLE_EQ(values.at("throttle_reasons"), 1 + 8 + 32);
  EXPECT_EQ(Find(*opened.source, "clock_settings")->states,
            "idle,applications_clocks,display_clocks");
  EXPECT_DOUBLE_EQ(values.at("clock_settings"), 1 + 4);
}

TEST(Nvml, LeavesOutWhatAGpuDoesNotSupport) {
  const StandIn nvml(STAND_IN_NVML);
  nvml.Set("0.field.82.0.error", 3);
  nvml.Set("0.nvmlDeviceGetTotalEnergyConsumption.error", 3);
  nvml.Set("0.field.186.2", 400000);  // knows no scopes: the memory "takes" what the GPU takes
  const auto opened = Open("nvml", nvml.path());
  ASSERT_NE(opened.source, nullptr);
  EXPECT_EQ(Find(*opened.source, "memory_temperature"), nullptr);
  EXPECT_EQ(Find(*opened.source, "gpu_energy"), nullptr);
  EXPECT_EQ(Find(*opened.source, "memory_power"), nullptr);
  for (const auto& [name, value] : ReadAll(*opened.source)) {
    EXPECT_TRUE(std::isfinite(value)) << name;
  }
}

// What fails at opening for another reason may work later.
TEST(Nvml, KeepsWhatFailsForTheMoment) {
  const StandIn nvml(STAND_IN_NVML);
  nvml.Set("0.nvmlDeviceGetTemperature.error", 999);
  const auto opened = Open("nvml", nvml.path());
  EXPECT_TRUE(std::isnan(ReadOne(*opened.source).at("temperature")));
  nvml.Set("0.nvmlDeviceGetTemperature.error", 0);
  EXPECT_DOUBLE_EQ(ReadOne(*opened.source).at("temperature"), 45);
}

TEST(Nvml, OldDriversGiveWhatTheyHave) {
  const StandIn nvml(STAND_IN_NVML_OLD);
  const auto opened = Open("nvml", nvml.path());
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
  const auto opened = Open("nvml", nvml.path());
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
  const auto opened = Open("nvml", nvml.path());
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
    const auto opened = Open("nvml", nvml.path());
    EXPECT_EQ(opened.source, nullptr);
    EXPECT_THAT(opened.why_not, HasSubstr(text));
    EXPECT_THAT(opened.why_not, HasSubstr(nvml.path()));
  }
  nvml.Clear();
  nvml.Set("gpus", 0);
  EXPECT_THAT(Open("nvml", nvml.path()).why_not, HasSubstr("no GPU"));
  nvml.Set("gpus", 1);
  nvml.Set("0.nvmlDeviceGetHandleByIndex_v2.error", 4);
  EXPECT_THAT(Open("nvml", nvml.path()).why_not, HasSubstr("GPU 0"));
  EXPECT_THAT(Open("nvml", STAND_IN_AMD_SMI).why_not, HasSubstr("has no nvmlInit_v2"));
  EXPECT_THAT(Open("nvml", "/nowhere/lib.so").why_not, HasSubstr("/nowhere/lib.so"));
}

TEST(Nvml, ShutsTheLibraryDownOnce) {
  const StandIn nvml(STAND_IN_NVML);
  { const auto opened = Open("nvml", nvml.path()); }
  EXPECT_EQ(nvml.Get("shutdowns"), 1);
  nvml.Set("nvmlInit_v2.error", 9);
  { const auto opened = Open("nvml", nvml.path()); }
  EXPECT_EQ(nvml.Get("shutdowns"), 1) << "was never initialised";
}

TEST(AmdSmi, ReadsEveryMetricOfANewGpuInItsUnit) {
  const StandIn smi(STAND_IN_AMD_SMI);
  const auto opened = Open("amd_smi", smi.path());
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
  const auto values = ReadOne(*opened.source);
  ASSERT_EQ(values.size(), expected.size());
  for (const auto& [name, value] : expected) {
    ASSERT_TRUE(values.contains(name)) << name;
    EXPECT_DOUBLE_EQ(values.at(name), value) << name;
  }
  smi.Set("0.energy", 1e6 + 1000);
  EXPECT_DOUBLE_EQ(ReadOne(*opened.source).at("gpu_energy"), 1000 * 15.25e-6);
  EXPECT_THAT(Find(*opened.source, "gpu_energy")->help, HasSubstr("15.2 uJ"));
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
  const auto opened = Open("amd_smi", smi.path());
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
  const auto opened = Open("amd_smi", smi.path());
  auto values = ReadOne(*opened.source);
  EXPECT_FALSE(values.contains("power"));
  EXPECT_DOUBLE_EQ(values["average_power"], 480);
  EXPECT_DOUBLE_EQ(values["temperature"], 41);
  EXPECT_DOUBLE_EQ(values["sm_clock"], 1700e6);
  EXPECT_FALSE(values.contains("throttle_power_time"));
  EXPECT_FALSE(values.contains("xgmi_tx"));
  EXPECT_EQ(Find(*opened.source, "throttle_reasons")->states,
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
  const auto opened = Open("amd_smi", smi.path());
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
    const auto opened = Open("amd_smi", smi.path());
    EXPECT_EQ(opened.source, nullptr);
    EXPECT_THAT(opened.why_not, HasSubstr("24 to 26"));
  }
  smi.Set("release", 24);
  smi.Set("amdsmi_init.error", 34);
  EXPECT_THAT(Open("amd_smi", smi.path()).why_not, HasSubstr("load the amdgpu driver"));
  smi.Set("amdsmi_init.error", 10);
  EXPECT_THAT(Open("amd_smi", smi.path()).why_not, HasSubstr("groups video and render"));
  smi.Set("amdsmi_init.error", 0);
  smi.Set("processor_type", 2);  // a CPU
  EXPECT_THAT(Open("amd_smi", smi.path()).why_not, HasSubstr("no GPU"));
  EXPECT_EQ(smi.Get("shutdowns"), 1);
  EXPECT_THAT(Open("amd_smi", STAND_IN_NVML).why_not, HasSubstr("has no amdsmi_init"));
}

TEST(RocmSmi, ReadsWhatItHas) {
  const StandIn smi(STAND_IN_ROCM_SMI);
  const auto opened = Open("rocm_smi", smi.path());
  ASSERT_NE(opened.source, nullptr) << opened.why_not;
  const auto values = ReadOne(*opened.source);
  EXPECT_DOUBLE_EQ(values.at("power"), 650);
  EXPECT_DOUBLE_EQ(values.at("power_limit"), 560);
  EXPECT_DOUBLE_EQ(values.at("memory_used"), 2e9);
  EXPECT_DOUBLE_EQ(values.at("ecc_corrected"), 6);
  EXPECT_DOUBLE_EQ(values.at("throttle_reasons"), 0);
  EXPECT_FALSE(values.contains("max_sm_clock"));
  EXPECT_EQ(opened.source->devices()[0].pci_bus_id, "0000:20:00.0");
  EXPECT_EQ(opened.source->devices()[0].name, "Instinct MI250");
}

// Its table ends early; what follows must not be taken for readings.
TEST(RocmSmi, AnOldLibraryFillsOnlyTheBeginning) {
  const StandIn smi(STAND_IN_ROCM_SMI);
  smi.Set("older", 1);
  smi.Set("old_library", 1);
  smi.Set("version", 5);
  const auto opened = Open("rocm_smi", smi.path());
  ASSERT_NE(opened.source, nullptr) << opened.why_not;
  const auto values = ReadOne(*opened.source);
  EXPECT_DOUBLE_EQ(values.at("average_power"), 480);
  EXPECT_FALSE(values.contains("power"));
  EXPECT_FALSE(values.contains("throttle_reasons"));
  EXPECT_FALSE(values.contains("xgmi_tx"));
}

TEST(RocmSmi, PartitionsOfAGpuAreReadOnce) {
  const StandIn smi(STAND_IN_ROCM_SMI);
  smi.Set("gpus", 3);
  smi.Set("1.pci_id", 0x10002001);  // partition 1 of the first, function 1
  const auto opened = Open("rocm_smi", smi.path());
  ASSERT_EQ(opened.source->devices().size(), 2U);
  EXPECT_EQ(opened.source->devices()[1].pci_bus_id, "0000:22:00.0");
}

TEST(RocmSmi, StandsBackForAmdSmiAndUnknownVersions) {
  const StandIn smi(STAND_IN_ROCM_SMI);
  const Metric power{.name = "power", .source = "amd_smi"};
  const auto second = OpenSource(
      "rocm_smi", {.libraries = {{"rocm_smi", smi.path()}}, .present = std::span(&power, 1)});
  EXPECT_EQ(second.source, nullptr);
  EXPECT_THAT(second.why_not, HasSubstr("amd_smi reads the same GPUs"));
  smi.Set("version", 9);
  EXPECT_THAT(Open("rocm_smi", smi.path()).why_not, HasSubstr("version 9"));
  smi.Set("version", 7);
  smi.Set("rsmi_init.error", 8);
  EXPECT_THAT(Open("rocm_smi", smi.path()).why_not, HasSubstr("groups video and render"));
}

}  // namespace
}  // namespace reprise
