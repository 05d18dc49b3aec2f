// Where devices and processes sit, from made-up /proc and /sys and a stand-in for NVIDIA's library.
#include <gtest/gtest.h>

#include "report/telemetry/process_placement.h"
#include "tests/telemetry/fixture_root.h"
#include "tests/telemetry/stand_in.h"

namespace reprise {
namespace {

constexpr char kAddress[] = "0000:01:00.0";

SourceOptions OptionsOf(const FixtureRoot& root) {
  return {.root = root.path(), .own_process = true, .libraries = {}, .present = {}};
}

void WriteDevice(const FixtureRoot& root, const std::string& vendor) {
  const std::string device = std::string("/sys/bus/pci/devices/") + kAddress;
  root.Write(device + "/numa_node", "1\n");
  root.Write(device + "/current_link_width", "16\n");
  root.Write(device + "/vendor", vendor + "\n");
}

TEST(Placement, OfADeviceWithNvlinks) {
  const FixtureRoot root;
  WriteDevice(root, "0x10de");
  const StandIn nvml(STAND_IN_NVML);
  nvml.Set("0.links", 5);
  nvml.Set("0.link.1", 0);
  nvml.Set("0.link.3", 2);
  SourceOptions options = OptionsOf(root);
  options.libraries["nvml"] = nvml.path();
  const DevicePlacement of = ReadDevicePlacement(options, kAddress);
  EXPECT_EQ(of.numa_node, 1);
  EXPECT_EQ(of.pcie_lanes, 16);
  EXPECT_EQ(of.links, 4);
  EXPECT_EQ(of.link_kind, "nvlink");
  EXPECT_EQ(of.link_neighbours, "0000:02:00.0 x3, switch x1");
  EXPECT_EQ(nvml.Get("shutdowns"), 1);
}

TEST(Placement, LinksThatCannotBeReadAreUnknown) {
  const FixtureRoot root;
  WriteDevice(root, "0x10de");
  SourceOptions options = OptionsOf(root);
  EXPECT_EQ(ReadDevicePlacement(options, kAddress).links, -1) << "no library";
  const StandIn old(STAND_IN_NVML_OLD);
  options.libraries["nvml"] = old.path();
  EXPECT_EQ(ReadDevicePlacement(options, kAddress).links, -1) << "no such functions";
  const StandIn nvml(STAND_IN_NVML);
  options.libraries["nvml"] = nvml.path();
  EXPECT_EQ(ReadDevicePlacement(options, kAddress).links, 0) << "a device without links";
  nvml.Set("0.links", 2);
  nvml.Set("0.nvmlDeviceGetNvLinkState.error", 999);
  EXPECT_EQ(ReadDevicePlacement(options, kAddress).links, -1) << "a failure";
  EXPECT_EQ(ReadDevicePlacement(options, kAddress).numa_node, 1) << "whatever the library says";
}

TEST(Placement, OfADeviceWithXgmi) {
  const FixtureRoot root;
  WriteDevice(root, "0x1002");
  const std::string nodes = "/sys/class/kfd/kfd/topology/nodes/";
  root.Write(nodes + "0/properties", "cpu_cores_count 64\nsimd_count 0\n");
  root.Write(nodes + "1/properties", "simd_count 256\nlocation_id 256\ndomain 0\n");
  root.Write(nodes + "2/properties", "simd_count 256\nlocation_id 19456\ndomain 1\n");
  root.Write(nodes + "1/io_links/0/properties", "type 2\nnode_from 1\nnode_to 0\n");
  root.Write(nodes + "1/io_links/1/properties", "type 11\nnode_from 1\nnode_to 2\n");
  const DevicePlacement of = ReadDevicePlacement(OptionsOf(root), kAddress);
  EXPECT_EQ(of.links, 1);
  EXPECT_EQ(of.link_kind, "xgmi");
  EXPECT_EQ(of.link_neighbours, "0001:4c:00.0 x1");
  EXPECT_EQ(ReadDevicePlacement(OptionsOf(root), "0000:77:00.0"), DevicePlacement{});
}

TEST(Placement, OfNothing) {
  const FixtureRoot root;
  EXPECT_EQ(ReadDevicePlacement(OptionsOf(root), ""), DevicePlacement{});
  EXPECT_EQ(ReadDevicePlacement(OptionsOf(root), kAddress), DevicePlacement{});
  const std::string device = std::string("/sys/bus/pci/devices/") + kAddress;
  root.Write(device + "/numa_node", "-1\n");
  root.Write(device + "/current_link_width", "255\n");  // what a device in a deep sleep says
  EXPECT_EQ(ReadDevicePlacement(OptionsOf(root), kAddress), DevicePlacement{});
}

TEST(Placement, OfTheProcess) {
  const FixtureRoot root;
  EXPECT_EQ(ReadProcessPlacement(root.path()).numa_nodes, "");
  root.Write("/proc/self/status",
             "Name:\treprise\nCpus_allowed:\tff\nCpus_allowed_list:\t2-3,9\nMems_allowed:\t3\n"
             "Mems_allowed_list:\t0-1\n");
  for (const auto& [node, cores] : std::map<std::string, std::string>{
           {"0", "0-1"}, {"1", "2-3"}, {"2", "8-11"}, {"3", ""}, {"10", "3"}}) {
    root.Write("/sys/devices/system/node/node" + node + "/cpulist", cores + "\n");
  }
  const ProcessPlacement of = ReadProcessPlacement(root.path());
  EXPECT_EQ(of.numa_nodes, "1-2,10");
  EXPECT_EQ(of.memory_numa_nodes, "0-1");
}

}  // namespace
}  // namespace reprise
