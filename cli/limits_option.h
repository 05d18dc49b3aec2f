// --limits, on every command: budgets for what others wrote (core/input_file.h).
#pragma once

#include <CLI/CLI.hpp>

#include "core/result.h"

namespace reprise {

void AddLimitsOption(CLI::App& app);
// What was given with `command` becomes the process's limits.
[[nodiscard]] Status ApplyLimits(const CLI::App& command);

}  // namespace reprise
