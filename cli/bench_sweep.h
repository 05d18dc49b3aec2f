// reprise bench collectives NAME --sweep: one table of all the ways to do a collective.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "collectives/bench/sweep.h"

namespace reprise {

struct SweepFlags {
  bool sweep = false;
  std::vector<std::string> chunks = {"256K", "1M", "4M"};
  std::vector<int> channels = {1, 4};
  int rounds = 5;
};
void AddSweepFlags(CLI::App& app, SweepFlags& flags);

// Collective; rank 0 prints. `name`: the collective's, for people. Exit code 1 where data was
// wrong.
[[nodiscard]] Result<int> Sweep(Communicator& communicator, const BenchOptions& options,
                                const std::string& name, const SweepFlags& flags, bool json);

}  // namespace reprise
