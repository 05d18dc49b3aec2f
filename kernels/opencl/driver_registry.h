// Which OpenCL drivers the ICD loader sees: the registered ones, those that the user names, and a
// GPU vendor's that lies in a usual place without being registered.
#pragma once

#include <string>
#include <vector>

#include "kernels/backend.h"

namespace reprise {

// Before the first OpenCL call, which it makes: the loader reads its environment then.
[[nodiscard]] Result<DriverSearch> PrepareOpenClDrivers(const std::vector<std::string>& icds,
                                                        ProcessEnvironment& environment);

}  // namespace reprise
