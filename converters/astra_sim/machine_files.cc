#include "converters/astra_sim/machine_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>

#include "core/temporary_output.h"

namespace reprise::astra_sim {
namespace {

namespace fs = std::filesystem;

struct TopologyRow {
  std::string_view word;
  std::string_view name;       // in network.yml
  std::string_view algorithm;  // of collectives on it, in system.json
};
constexpr std::array<TopologyRow, 3> kTopologies = {
    {{"ring", "Ring", "ring"},
     {"switch", "Switch", "ring"},
     {"fully-connected", "FullyConnected", "direct"}}};

const TopologyRow& RowOf(Topology topology) {
  return kTopologies.at(static_cast<std::size_t>(topology));
}

std::string SystemText(const Machine& machine, Mode mode, bool track_memory) {
  nlohmann::ordered_json algorithms = nlohmann::ordered_json::array();
  for (const Dimension& dimension : machine.dimensions) {
    algorithms.push_back(RowOf(dimension.topology).algorithm);
  }
  nlohmann::ordered_json json = {{"scheduling-policy", "LIFO"},
                                 {"endpoint-delay", machine.endpoint_ns},
                                 {"active-chunks-per-dimension", 1},
                                 {"preferred-dataset-splits", machine.chunks},
                                 {"all-reduce-implementation", algorithms},
                                 {"all-gather-implementation", algorithms},
                                 {"reduce-scatter-implementation", algorithms},
                                 {"all-to-all-implementation", algorithms},
                                 {"collective-optimization", "localBWAware"},
                                 {"local-mem-bw", machine.memory_gb_per_s},
                                 {"boost-mode", 0},
                                 {"roofline-enabled", mode == Mode::kRoofline ? 1 : 0},
                                 {"peak-perf", machine.peak_tflops},
                                 {"replay-only", mode == Mode::kReplay ? 1 : 0},
                                 {"track-local-mem", track_memory ? 1 : 0}};
  return json.dump(2) + "\n";
}

std::string NetworkText(const Machine& machine) {
  std::vector<std::string_view> topologies;
  std::vector<std::int32_t> npus;
  std::vector<double> bandwidths;
  std::vector<double> latencies;
  for (const Dimension& dimension : machine.dimensions) {
    topologies.push_back(RowOf(dimension.topology).name);
    npus.push_back(dimension.npus);
    bandwidths.push_back(dimension.bandwidth_gb_per_s);
    latencies.push_back(dimension.latency_ns);
  }
  return fmt::format(
      "topology: [ {} ]\nnpus_count: [ {} ]\nbandwidth: [ {} ]  # GB/s\nlatency: [ {} ]  # ns\n",
      fmt::join(topologies, ", "), fmt::join(npus, ", "), fmt::join(bandwidths, ", "),
      fmt::join(latencies, ", "));
}

// ASTRA-sim ends with 0 when ranks are stuck, so the script counts those that finish.
constexpr std::string_view kScript = R"sh(#!/bin/sh
# Runs this set in ASTRA-sim's analytical simulator: [ASTRA_SIM=program] run.sh [more of its options]
# Exit code 1 unless all ranks finish.
cd "$(dirname "$0")" || exit 1
mkdir -p log
"${{ASTRA_SIM:-AstraSim_Analytical_Congestion_Unaware}}" \
  --workload-configuration="{0}" \
  --comm-group-configuration=comm_groups.json \
  --system-configuration=system.json \
  --network-configuration=network.yml \
  --remote-memory-configuration=memory.json "$@" >astra_sim.txt 2>&1
cat astra_sim.txt
finished=$(grep -c 'finished,' astra_sim.txt)
echo "$finished of {1} ranks finished"
[ "$finished" -eq {1} ]
)sh";

}  // namespace

bool ParseTopology(std::string_view word, Topology& out) {
  for (std::size_t i = 0; i < kTopologies.size(); ++i) {
    if (kTopologies.at(i).word == word) {
      out = static_cast<Topology>(i);
      return true;
    }
  }
  return false;
}

Status Check(const Machine& machine, Mode mode, std::int32_t ranks) {
  std::int64_t npus = 1;
  for (const Dimension& dimension : machine.dimensions) {
    if (dimension.npus < 2 || !(dimension.bandwidth_gb_per_s > 0) || !(dimension.latency_ns >= 0)) {
      return UsageError(
          "a dimension of the network needs at least 2 NPUs, a bandwidth above 0 and a latency");
    }
    npus *= dimension.npus;
    if (npus > ranks) {
      break;
    }
  }
  if (npus != ranks) {
    return UsageError(fmt::format(
        "the set has {} ranks, and the network's dimensions multiply to {} NPUs; --npus says how "
        "many each has",
        ranks, npus));
  }
  if (mode == Mode::kRoofline && !(machine.peak_tflops > 0 && machine.memory_gb_per_s > 0)) {
    return UsageError("--mode roofline needs --peak-tflops and --memory-bandwidth above 0");
  }
  return {};
}

Status WriteMachineFiles(const std::string& directory, const std::string& name,
                         const Machine& machine, Mode mode, bool track_memory, std::int32_t ranks) {
  const fs::path base(directory);
  REPRISE_TRY(
      WriteTextFile((base / "system.json").string(), SystemText(machine, mode, track_memory)));
  REPRISE_TRY(WriteTextFile((base / "network.yml").string(), NetworkText(machine)));
  REPRISE_TRY(WriteTextFile((base / "memory.json").string(),
                            "{\"memory-type\": \"NO_MEMORY_EXPANSION\"}\n"));
  REPRISE_TRY(WriteTextFile((base / "run.sh").string(), fmt::format(kScript, name, ranks)));
  std::error_code error;
  fs::permissions(base / "run.sh",
                  fs::perms::owner_exec | fs::perms::group_exec | fs::perms::others_exec,
                  fs::perm_options::add, error);
  return error ? EnvironmentError(fmt::format("{}/run.sh: {}", directory, error.message()))
               : Status();
}

}  // namespace reprise::astra_sim
