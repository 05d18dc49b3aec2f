// A fake root with the /proc and /sys of a machine that has every source.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

namespace reprise {

class FixtureRoot {
 public:
  FixtureRoot() {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    std::string name = info->name();
    std::replace(name.begin(), name.end(), '/', '_');  // of a parameterized test
    root_ = std::filesystem::path(::testing::TempDir()) /
            ("reprise_root_" + name + "_" + std::to_string(getpid()));
    std::filesystem::remove_all(root_);
    std::filesystem::create_directories(root_);
  }
  ~FixtureRoot() { std::filesystem::remove_all(root_); }
  FixtureRoot(const FixtureRoot&) = delete;
  FixtureRoot& operator=(const FixtureRoot&) = delete;

  [[nodiscard]] std::string path() const { return root_.string(); }
  [[nodiscard]] std::string At(const std::string& file) const { return root_.string() + file; }
  // In place, as the kernel changes its files: who has it open sees the new text.
  void Write(const std::string& file, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(At(file)).parent_path());
    std::ofstream(At(file), std::ios::trunc) << text;
  }
  void WriteAll() const {
    for (const auto& [file, text] : Files()) {
      Write(file, text);
    }
  }
  // The next reading of what needs a difference: /proc/stat, a tick and more later.
  void Advance() const {
    Write("/proc/stat",
          "cpu  110 0 60 865 55 0 0 10 0 0\ncpu0 60 0 25 400 25 0 0 0 0 0\n"
          "cpu1 50 0 25 465 25 0 0 0 0 0\nintr 1\nctxt 1234\n");
  }
  static const std::map<std::string, std::string>& Files() {
    static const std::map<std::string, std::string> kFiles = {
        {"/proc/stat",
         "cpu  100 0 50 800 50 0 0 0 0 0\ncpu0 50 0 25 400 25 0 0 0 0 0\n"
         "cpu1 50 0 25 400 25 0 0 0 0 0\nintr 9 0 0\nctxt 1000\nbtime 5\n"},
        {"/proc/meminfo", "MemTotal:  1000 kB\nMemFree: 1 kB\nMemAvailable:  600 kB\n"},
        {"/proc/self/statm", "900 7 3 1 0 5 0\n"},
        {"/proc/pressure/cpu",
         "some avg10=0.25 avg60=0.81 avg300=0.39 total=2500000\n"
         "full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"},
        {"/sys/class/powercap/intel-rapl:0/name", "package-0\n"},
        {"/sys/class/powercap/intel-rapl:0/energy_uj", "5000000\n"},
        {"/sys/class/powercap/intel-rapl:0/max_energy_range_uj", "10000000\n"},
        {"/sys/class/powercap/intel-rapl:0:0/name", "dram\n"},
        {"/sys/class/powercap/intel-rapl:0:0/energy_uj", "100\n"},
        {"/sys/class/powercap/intel-rapl:0:0/max_energy_range_uj", "10000000\n"},
        {"/sys/class/powercap/intel-rapl-mmio:0/name", "package-0\n"},
        {"/sys/class/powercap/intel-rapl-mmio:0/energy_uj", "5000000\n"},
        {"/sys/class/hwmon/hwmon0/name", "coretemp\n"},
        {"/sys/class/hwmon/hwmon0/temp1_input", "45000\n"},
        {"/sys/class/hwmon/hwmon0/temp1_label", "Package id 0\n"},
        {"/sys/class/hwmon/hwmon1/name", "coretemp\n"},
        {"/sys/class/hwmon/hwmon1/temp1_input", "-5500\n"},
        {"/sys/class/hwmon/hwmon1/temp1_label", "Package id 0\n"},
        {"/sys/class/hwmon/hwmon10/name", "board\n"},
        {"/sys/class/hwmon/hwmon10/power1_input", "12500000\n"},
        {"/sys/class/hwmon/hwmon10/power1_average", "1\n"},
        {"/sys/class/hwmon/hwmon10/power2_average", "2000000\n"},
        {"/sys/class/hwmon/hwmon10/energy1_input", "3000000\n"},
        {"/sys/class/thermal/thermal_zone0/type", "acpitz\n"},
        {"/sys/class/thermal/thermal_zone0/temp", "27800\n"},
        {"/sys/class/thermal/cooling_device0/type", "Processor\n"},
        {"/sys/class/infiniband/mlx5_0/ports/1/rate", "200 Gb/sec (4X HDR)\n"},
        {"/sys/class/infiniband/mlx5_0/ports/1/counters/port_xmit_data", "1000\n"},
        {"/sys/class/infiniband/mlx5_0/ports/1/counters/port_rcv_data", "2000\n"},
        {"/sys/class/infiniband/mlx5_0/ports/1/counters/port_rcv_errors", "3\n"},
        {"/sys/class/net/lo/statistics/rx_bytes", "77\n"},
        {"/sys/class/net/eth0/statistics/rx_bytes", "500\n"},
        {"/sys/class/net/eth0/statistics/tx_bytes", "600\n"},
        {"/sys/class/net/eth0/statistics/rx_dropped", "1\n"},
        {"/sys/class/net/eth0/statistics/tx_dropped", "0\n"},
        {"/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "3000000\n"},
        {"/sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq", "1000000\n"},
    };
    return kFiles;
  }

 private:
  std::filesystem::path root_;
};

}  // namespace reprise
