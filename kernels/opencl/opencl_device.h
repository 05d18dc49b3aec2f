// The OpenCL backend, through the ICD loader.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernels/backend.h"

namespace reprise {

inline constexpr const char* kOpenClBackend = "opencl";
inline constexpr const char* kTf32Setting = "allow-tf32";  // KernelTuning::allow_tf32

[[nodiscard]] Result<std::vector<DeviceInfo>> ListOpenClDevices();
[[nodiscard]] std::string WhyNoOpenClDevices();
[[nodiscard]] Result<std::unique_ptr<Device>> OpenOpenClDevice(const DeviceOptions& options);

}  // namespace reprise
