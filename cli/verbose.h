// -v, --verbose: before or after a command's name.
#pragma once

#include <CLI/CLI.hpp>

namespace reprise {

// Gives the flag to `app` and all commands below it.
void AddVerboseFlags(CLI::App& app);

// Whether it was given to `command`, to one around it or to one of its own. After parsing.
[[nodiscard]] bool IsVerbose(const CLI::App& command);

}  // namespace reprise
