// reprise bench kernels.
#pragma once

#include "cli/program/commands.h"

namespace reprise {

// Adds the subcommand to `bench` and returns what runs it.
[[nodiscard]] CommandBody AddBenchKernels(CLI::App& bench, const CommandContext& context);

}  // namespace reprise
