// Which OpenCL drivers the ICD loader sees: the registered ones, --icd's, and a GPU vendor's that
// lies in a usual place without being registered.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "kernels/opencl/icd_search.h"

namespace reprise {

void AddIcdOption(CLI::App& app, std::vector<std::string>& icds);

// Before the first OpenCL call, which it makes: the loader reads its environment then.
[[nodiscard]] Result<IcdSearch> PrepareOpenClDrivers(const std::vector<std::string>& icds);

}  // namespace reprise
