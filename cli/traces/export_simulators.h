// reprise export for programs that simulate traces: ASTRA-sim's sets, and Chakra's JSON.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "core/result.h"

namespace reprise {

struct SimulatorFlags {
  std::string ranks;  // of a set; empty: all
  std::string mode = "network", host = "auto", host_gaps = "keep";
  std::vector<std::string> topology = {"ring"};
  std::vector<std::int32_t> npus;
  std::vector<double> bandwidth_gb_per_s = {50}, latency_ns = {500};
  double peak_tflops = 0, memory_gb_per_s = 0;
  bool track_memory = false;
};

// The options of --to astra-sim.
void AddSimulatorOptions(CLI::App& app, SimulatorFlags& flags);

// `all`: also of folded sets of very many ranks. A directory: the set, the machine's files and a
// script that runs them.
[[nodiscard]] Status ExportAstraSim(const std::string& input, const std::string& output,
                                    const SimulatorFlags& flags, bool all, bool force);

// A set becomes a directory of NAME.<rank>.json with the groups beside it, one file a file.
[[nodiscard]] Status ExportChakraJson(const std::string& input, const std::string& output, bool all,
                                      bool force);

}  // namespace reprise
