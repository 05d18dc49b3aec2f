// reprise bench collectives NAME --variants: one table of all the ways to do a collective.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "collectives/bench/variants.h"

namespace reprise {

struct VariantFlags {
  bool asked = false;
  std::vector<std::string> chunks = {"256K", "1M", "4M"};
  std::vector<int> channels = {1, 4};
  int rounds = 5;
};
void AddVariantFlags(CLI::App& app, VariantFlags& flags);

// Collective; rank 0 prints. `name`: the collective's, for people. Exit code 1 where data was
// wrong.
[[nodiscard]] Result<int> ShowVariants(Communicator& communicator, const BenchOptions& options,
                                       const std::string& name, const VariantFlags& flags,
                                       bool json);

}  // namespace reprise
