// What each source makes of its files: units, wraps, labels, permissions.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <map>
#include <optional>

#include "telemetry/source.h"
#include "tests/telemetry/fixture_root.h"

namespace reprise {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

SourceKind::Opened Open(std::string_view name, const FixtureRoot& root) {
  for (const SourceKind& kind : BuiltinSources()) {
    if (kind.name == name) {
      return kind.open({.root = root.path()});
    }
  }
  return {nullptr, "no such source"};
}

// "metric of device" → value.
std::map<std::string, double> ReadAll(Source& source) {
  std::vector<double> values(source.metrics().size());
  source.Read(values);
  std::map<std::string, double> named;
  for (std::size_t i = 0; i < values.size(); ++i) {
    named[source.metrics()[i].name + " of " + source.metrics()[i].device] = values[i];
  }
  return named;
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
