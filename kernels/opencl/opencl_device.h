// The OpenCL backend, through the ICD loader.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernels/device.h"

namespace reprise {

[[nodiscard]] Result<std::vector<DeviceInfo>> ListOpenClDevices();
[[nodiscard]] std::string WhyNoOpenClDevices();
[[nodiscard]] Result<std::unique_ptr<Device>> OpenOpenClDevice(const DeviceOptions& options);

}  // namespace reprise
