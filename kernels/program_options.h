// What the OpenCL C programs are compiled with on a device.
#pragma once

#include <string>

#include "kernels/device.h"

namespace reprise {

// The compiler's options for every program, before the launch's own; common.cl builds on these.
[[nodiscard]] std::string ProgramOptions(const DeviceInfo& info);

}  // namespace reprise
