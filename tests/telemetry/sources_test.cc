// What each source makes of its files: units, wraps, labels, permissions.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <map>
#include <optional>

#include "tests/telemetry/fixture_root.h"
#include "tests/telemetry/source_reading.h"

namespace reprise {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

SourceKind::Opened Open(std::string_view name, const FixtureRoot& root) {
  return OpenSource(name, {.root = root.path()});
}

TEST(Procfs, ReadsUtilisationMemoryAndPressure) {
  const FixtureRoot root;
  root.WriteAll();
  const auto opened = Open("procfs", root);
  ASSERT_NE(opened.source, nullptr);
  // 30 busy (user + system + steal) of 100 ticks; 5 of iowait are not busy.
  root.Write("/proc/stat", "cpu  110 0 60 865 55 0 0 10 0 0\nintr 1\nctxt 1234\n");
  auto values = ReadAll(*opened.source);
  EXPECT_DOUBLE_EQ(values.at("cpu_utilization of host"), 0.3);
  EXPECT_EQ(values.at("context_switches of host"), 1234);
  EXPECT_EQ(values.at("memory_used of host"), 400 * 1024);
  EXPECT_EQ(values.at("resident_memory of process"),
            7.0 * static_cast<double>(sysconf(_SC_PAGESIZE)));
  EXPECT_DOUBLE_EQ(values.at("cpu_pressure of host"), 2.5);
  EXPECT_FALSE(values.contains("io_pressure of host"));  // the fixture has only cpu
  // No tick since then: the same again, not 0/0.
  values = ReadAll(*opened.source);
  EXPECT_DOUBLE_EQ(values.at("cpu_utilization of host"), 0.3);
}

TEST(Procfs, LeavesOutAProcessThatOnlyWatches) {
  const FixtureRoot root;
  root.WriteAll();
  const auto opened = OpenSource("procfs", {.root = root.path(), .own_process = false});
  ASSERT_NE(opened.source, nullptr);
  const auto values = ReadAll(*opened.source);
  EXPECT_FALSE(values.contains("resident_memory of process"));
  EXPECT_EQ(values.at("memory_used of host"), 400 * 1024);
}

TEST(Procfs, ReadsEachCoreAlsoWhenOneGoesOffline) {
  const FixtureRoot root;
  root.WriteAll();
  const auto opened = Open("procfs", root);
  ASSERT_NE(opened.source, nullptr);
  root.Write("/proc/stat",
             "cpu  0 0 0 0\ncpu0 60 0 25 430 25 0 0 0 0 0\ncpu1 150 0 25 400 25 0 0 0\nctxt 1\n");
  auto values = ReadAll(*opened.source);
  EXPECT_DOUBLE_EQ(values.at("cpu_utilization of cpu-0"), 0.25);
  EXPECT_DOUBLE_EQ(values.at("cpu_utilization of cpu-1"), 1.0);
  root.Write("/proc/stat", "cpu  0 0 0 0\ncpu1 150 0 25 500 25 0 0 0\ncpu2 1 1 1 1\nctxt 1\n");
  values = ReadAll(*opened.source);
  EXPECT_TRUE(std::isnan(values.at("cpu_utilization of cpu-0")));
  EXPECT_DOUBLE_EQ(values.at("cpu_utilization of cpu-1"), 0.0);
}

TEST(Rapl, CountsFromOpeningAndWraps) {
  const FixtureRoot root;
  root.WriteAll();
  const auto opened = Open("rapl", root);
  ASSERT_NE(opened.source, nullptr);
  const std::string energy = "/sys/class/powercap/intel-rapl:0/energy_uj";
  // Package and its DRAM; the mmio zone is the package again and is left out.
  EXPECT_THAT(ReadAll(*opened.source),
              ElementsAre(Pair("dram_energy of package-0/dram", DoubleEq(0)),
                          Pair("package_energy of package-0", DoubleEq(0))));
  root.Write(energy, "9000000\n");
  EXPECT_DOUBLE_EQ(ReadAll(*opened.source).at("package_energy of package-0"), 4.0);
  root.Write(energy, "1000000\n");  // 10 J is the range: 1 J up to it and 1 J from 0
  EXPECT_DOUBLE_EQ(ReadAll(*opened.source).at("package_energy of package-0"), 6.0);
  root.Write(energy, "");
  EXPECT_TRUE(std::isnan(ReadAll(*opened.source).at("package_energy of package-0")));
  root.Write(energy, "3000000\n");  // the counter went on meanwhile
  EXPECT_DOUBLE_EQ(ReadAll(*opened.source).at("package_energy of package-0"), 8.0);
}

TEST(Rapl, StepBackWithoutRangeIsAReset) {
  const FixtureRoot root;
  root.Write("/sys/class/powercap/intel-rapl:0/name", "package-0\n");
  root.Write("/sys/class/powercap/intel-rapl:0/energy_uj", "5000000\n");
  const auto opened = Open("rapl", root);
  ASSERT_NE(opened.source, nullptr);
  root.Write("/sys/class/powercap/intel-rapl:0/energy_uj", "1000000\n");
  EXPECT_DOUBLE_EQ(ReadAll(*opened.source).at("package_energy of package-0"), 0.0);
  root.Write("/sys/class/powercap/intel-rapl:0/energy_uj", "2500000\n");
  EXPECT_DOUBLE_EQ(ReadAll(*opened.source).at("package_energy of package-0"), 1.5);
}

// Two sockets: both zones, told apart; the dram of each by its package.
TEST(Rapl, SeveralPackages) {
  const FixtureRoot root;
  root.WriteAll();
  root.Write("/sys/class/powercap/intel-rapl:1/name", "package-1\n");
  root.Write("/sys/class/powercap/intel-rapl:1/energy_uj", "1\n");
  root.Write("/sys/class/powercap/intel-rapl:1:0/name", "dram\n");
  root.Write("/sys/class/powercap/intel-rapl:1:0/energy_uj", "1\n");
  const auto opened = Open("rapl", root);
  ASSERT_NE(opened.source, nullptr);
  const auto values = ReadAll(*opened.source);
  EXPECT_EQ(values.size(), 4U);
  EXPECT_TRUE(values.contains("package_energy of package-1"));
  EXPECT_TRUE(values.contains("dram_energy of package-1/dram"));
}

TEST(Rapl, DeniedPermissionSaysHowToGetIt) {
  const FixtureRoot root;
  root.WriteAll();
  for (const char* zone : {"intel-rapl:0", "intel-rapl:0:0"}) {
    ASSERT_EQ(chmod(root.At(std::string("/sys/class/powercap/") + zone + "/energy_uj").c_str(), 0),
              0);
  }
  constexpr uid_t kNobody = 65534;
  const bool root_user = geteuid() == 0;  // who may read everything, so be somebody else
  if (root_user) {
    ASSERT_EQ(seteuid(kNobody), 0);
  }
  const auto opened = Open("rapl", root);
  if (root_user) {
    ASSERT_EQ(seteuid(0), 0);
  }
  EXPECT_EQ(opened.source, nullptr);
  EXPECT_THAT(opened.why_not, HasSubstr("permission denied"));
  EXPECT_THAT(opened.why_not, HasSubstr("chmod a+r"));
  EXPECT_THAT(opened.why_not, HasSubstr("intel-rapl:0"));
}

TEST(Hwmon, ScalesLabelsAndTellsEqualChipsApart) {
  const FixtureRoot root;
  root.WriteAll();
  const auto opened = Open("hwmon", root);
  ASSERT_NE(opened.source, nullptr);
  EXPECT_THAT(
      ReadAll(*opened.source),
      ElementsAre(Pair("energy of board/energy1", DoubleEq(3)),
                  Pair("power of board/power1", DoubleEq(12.5)),
                  Pair("power of board/power2", DoubleEq(2)),
                  Pair("temperature of coretemp/Package id 0", DoubleEq(45)),
                  Pair("temperature of coretemp/Package id 0 (hwmon1/temp1)", DoubleEq(-5.5))));
}

TEST(Hwmon, SensorsWithoutAValueAreLeftOut) {
  const FixtureRoot root;
  root.Write("/sys/class/hwmon/hwmon0/name", "nvme\n");
  root.Write("/sys/class/hwmon/hwmon0/temp1_input", "");
  root.Write("/sys/class/hwmon/hwmon0/temp2_input", "30000\n");
  const auto opened = Open("hwmon", root);
  ASSERT_NE(opened.source, nullptr);
  EXPECT_THAT(ReadAll(*opened.source),
              ElementsAre(Pair("temperature of nvme/temp2", DoubleEq(30))));
}

// Vendors' libraries read GPUs too: by its bus id one GPU is told to be the other. A CPU's sensors
// hang on a PCI device as well, its bridge.
TEST(Hwmon, SaysWhichGpuAChipBelongsTo) {
  const FixtureRoot root;
  const auto add = [&root](const std::string& chip, const std::string& name,
                           const std::string& bus_id, const std::string& pci_class) {
    root.Write("/sys/class/hwmon/" + chip + "/name", name + "\n");
    root.Write("/sys/class/hwmon/" + chip + "/power1_input", "30000000\n");
    root.Write("/sys/class/hwmon/" + chip + "/temp1_input", "30000\n");
    root.Write("/sys/devices/" + bus_id + "/class", pci_class + "\n");
    std::filesystem::create_symlink("../../../devices/" + bus_id,
                                    root.At("/sys/class/hwmon/" + chip + "/device"));
  };
  add("hwmon0", "amdgpu", "0000:C3:00.0", "0x120000");
  root.Write("/sys/class/hwmon/hwmon0/power1_cap", "300000000\n");
  add("hwmon2", "amdgpu", "0000:05:00.0", "0x030000");  // within the CPU's package: no cap
  add("hwmon1", "k10temp", "0000:00:18.3", "0x060000");
  const auto opened = Open("hwmon", root);
  ASSERT_NE(opened.source, nullptr);
  ASSERT_EQ(opened.source->metrics().size(), 6U);
  const std::vector<MeteredDevice> devices = opened.source->devices();
  ASSERT_EQ(devices.size(), 2U);  // both sensors of the one GPU
  EXPECT_EQ(devices[0].device, "amdgpu/temp1");
  EXPECT_EQ(devices[1].device, "amdgpu/power1");
  EXPECT_EQ(devices[1].source, "hwmon");
  EXPECT_EQ(devices[1].name, "amdgpu");
  EXPECT_EQ(devices[1].pci_bus_id, "0000:c3:00.0");
}

TEST(Infiniband, CountsBytesAndErrorsOfEachPort) {
  const FixtureRoot root;
  root.WriteAll();
  const auto opened = Open("infiniband", root);
  ASSERT_NE(opened.source, nullptr);
  EXPECT_THAT(ReadAll(*opened.source),
              ElementsAre(Pair("infiniband_rx of mlx5_0/1", DoubleEq(8000)),
                          Pair("infiniband_rx_errors of mlx5_0/1", DoubleEq(3)),
                          Pair("infiniband_tx of mlx5_0/1", DoubleEq(4000))));
  EXPECT_THAT(opened.source->metrics()[0].help, HasSubstr("200 Gb/sec"));
  EXPECT_EQ(opened.source->metrics()[0].kind, MetricKind::kCounter);
}

TEST(Network, CountsInterfacesWithHardwareOnceAndNeverTheLoopback) {
  const FixtureRoot root;
  root.WriteAll();
  root.Write("/sys/class/net/br0/statistics/rx_bytes", "500\n");
  // A container: nothing has hardware behind it.
  auto values = ReadAll(*Open("network", root).source);
  EXPECT_EQ(values.size(), 5U);
  EXPECT_EQ(values.at("network_rx of br0"), 500);
  // A host: the bridge carries what the interface below it carries.
  root.Write("/sys/class/net/eth0/device/vendor", "0x15b3\n");
  values = ReadAll(*Open("network", root).source);
  EXPECT_THAT(values, ElementsAre(Pair("network_rx of eth0", DoubleEq(500)),
                                  Pair("network_rx_dropped of eth0", DoubleEq(1)),
                                  Pair("network_tx of eth0", DoubleEq(600)),
                                  Pair("network_tx_dropped of eth0", DoubleEq(0))));
}

TEST(Thermal, ReadsZonesOnly) {
  const FixtureRoot root;
  root.WriteAll();
  const auto opened = Open("thermal", root);
  ASSERT_NE(opened.source, nullptr);
  EXPECT_THAT(ReadAll(*opened.source), ElementsAre(Pair("temperature of acpitz", DoubleEq(27.8))));
}

TEST(Cpufreq, AveragesCpusAndSpreadsItsPickOverThem) {
  const FixtureRoot root;
  root.WriteAll();
  const auto two = Open("cpufreq", root);
  ASSERT_NE(two.source, nullptr);
  EXPECT_DOUBLE_EQ(ReadAll(*two.source).at("clock of cpu"), 2e9);
  for (int cpu = 0; cpu < 16; ++cpu) {
    root.Write("/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/cpufreq/scaling_cur_freq",
               cpu < 8 ? "1000000\n" : "2000000\n");
  }
  const auto sixteen = Open("cpufreq", root);
  ASSERT_NE(sixteen.source, nullptr);
  EXPECT_DOUBLE_EQ(ReadAll(*sixteen.source).at("clock of cpu"), 1.5e9);
  EXPECT_THAT(sixteen.source->metrics()[0].help, HasSubstr("8 of 16"));
}

TEST(Model, IsALineOverUtilisationAndLabelled) {
  const FixtureRoot root;
  root.WriteAll();
  const auto opened = Open("model", root);
  ASSERT_NE(opened.source, nullptr);
  EXPECT_TRUE(opened.source->metrics()[0].modelled);
  EXPECT_THAT(opened.source->metrics()[0].help, HasSubstr("MODELLED"));
  // Two CPUs: 2 W idle, 8 W full.
  root.Write("/proc/stat", "cpu  100 0 50 900 50 0 0 0 0 0\n");
  EXPECT_DOUBLE_EQ(ReadAll(*opened.source).at("cpu_power of cpu"), 2.0);
  root.Write("/proc/stat", "cpu  200 0 50 900 50 0 0 0 0 0\n");
  EXPECT_DOUBLE_EQ(ReadAll(*opened.source).at("cpu_power of cpu"), 8.0);
}

}  // namespace
}  // namespace reprise
