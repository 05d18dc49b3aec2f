// The machine that a set is simulated on, and ASTRA-sim's files that describe it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/result.h"

namespace reprise::astra_sim {

enum class Mode : std::uint8_t {
  kReplay,    // everything takes its recorded time
  kNetwork,   // transfers are simulated, everything else takes its recorded time
  kRoofline,  // transfers are simulated, work takes what FLOPs and bytes need
};

enum class Topology : std::uint8_t { kRing, kSwitch, kFullyConnected };

// A network of one or more dimensions, innermost first; ranks count along the first one.
struct Dimension {
  Topology topology = Topology::kRing;
  std::int32_t npus = 0;
  double bandwidth_gb_per_s = 0;  // 1e9 bytes, of a link and direction
  double latency_ns = 0;          // of a link
};

struct Machine {
  std::vector<Dimension> dimensions;
  double peak_tflops = 0;         // kRoofline
  double memory_gb_per_s = 0;     // kRoofline
  std::int32_t chunks = 4;        // parts that a collective is sent in
  std::int32_t endpoint_ns = 10;  // of each message
};

// "ring", "switch", "fully-connected"; "" for no such word.
[[nodiscard]] bool ParseTopology(std::string_view word, Topology& out);

// Usage error unless the machine has `ranks` NPUs and positive numbers.
[[nodiscard]] Status Check(const Machine& machine, Mode mode, std::int32_t ranks);

// Writes system.json, network.yml, memory.json and run.sh, which runs the set `name` with them,
// into a directory. `track_memory`: the nodes have lists of tensors.
[[nodiscard]] Status WriteMachineFiles(const std::string& directory, const std::string& name,
                                       const Machine& machine, Mode mode, bool track_memory,
                                       std::int32_t ranks);

}  // namespace reprise::astra_sim
