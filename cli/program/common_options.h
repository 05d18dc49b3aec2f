// Options that every command has: -v, --verbose, and --limits.
#pragma once

#include <CLI/CLI.hpp>

#include "core/result.h"

namespace reprise {

// Adds them to all commands of `app`, and -v to `app` itself.
void AddCommonOptions(CLI::App& app);

// Whether -v was given to `command`, to one around it or to one of its own. After parsing.
[[nodiscard]] bool IsVerbose(const CLI::App& command);

// What --limits of `command` says becomes the process's limits on input (core/input_file.h).
[[nodiscard]] Status ApplyLimits(const CLI::App& command);

}  // namespace reprise
