// Where a device and this process sit on the host, from /sys, /proc and NVIDIA's library. What
// cannot be read stays unknown. report/python/reprise_machine.py reads the same for captures.
#pragma once

#include <string>

#include "core/placement.h"
#include "report/telemetry/source.h"

namespace reprise {

// `pci_bus_id` as in "0000:1b:00.0"; empty: nothing is known. Opens a library for links of NVIDIA's
// devices, which may take some milliseconds.
[[nodiscard]] DevicePlacement ReadDevicePlacement(const SourceOptions& options,
                                                  const std::string& pci_bus_id);

// Lists of NUMA nodes as the kernel writes them: "0-1,3". Empty: unknown.
struct ProcessPlacement {
  std::string numa_nodes;         // with cores that the process may use
  std::string memory_numa_nodes;  // with memory that it may use
};
// `root`: what comes before "/proc" and "/sys".
[[nodiscard]] ProcessPlacement ReadProcessPlacement(const std::string& root);

}  // namespace reprise
