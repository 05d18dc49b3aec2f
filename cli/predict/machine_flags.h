// The flags that name a described machine, and what is other on it: of simulate, predict and sweep.
#pragma once

#include <CLI/CLI.hpp>

#include "predict/simulate.h"

namespace reprise {

// --machine, --set, --slow, --link, --network, --power-limit, --until-steady. `machine_help`
// follows "name (`reprise list machines`) or file (docs/machine_format.md)".
void AddMachineFlags(CLI::App& app, MachineRequest& request, const std::string& machine_help);

}  // namespace reprise
