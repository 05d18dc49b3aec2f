// Where a rank runs on its host, as far as that could be read.
#pragma once

#include <cstdint>
#include <string>

namespace reprise {

// Where a device sits.
struct DevicePlacement {
  std::int32_t numa_node = -1;  // -1: unknown
  std::int32_t pcie_lanes = 0;  // of its link as it is now; 0: unknown
  // Direct links to other devices, NVLink or xGMI, that are up; -1: unknown.
  std::int32_t links = -1;
  std::string link_kind;        // "nvlink", "xgmi"; empty: unknown
  std::string link_neighbours;  // "0000:1b:00.0 x4, switch x2": what they lead to, and how many
  bool operator==(const DevicePlacement&) const = default;
};

// What is unknown is empty.
struct RankPlacement {
  std::string host;
  std::int32_t slot = -1;  // number among the ranks of the job on this host; -1: unknown
  std::string pci_bus_id;  // of the rank's device: "0000:1b:00.0"
  DevicePlacement device;
  std::string process_numa_nodes;  // those with cores that the process may use: "0-1,3"
  std::string memory_numa_nodes;   // those with memory that it may use
  bool operator==(const RankPlacement&) const = default;
};

}  // namespace reprise
