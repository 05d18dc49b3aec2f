// CUDA devices, through NVIDIA's driver and PyTorch's operators.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernels/backend.h"

namespace reprise {

inline constexpr const char* kCudaBackend = "cuda";

// Empty where there is no driver or no device.
[[nodiscard]] std::vector<DeviceInfo> ListCudaDevices();
// What is missing; empty if there are devices.
[[nodiscard]] std::string WhyNoCudaDevices();
// PyTorch's library for CUDA devices: `path`, or the one beside it. Environment error if neither is
// there.
[[nodiscard]] Result<std::string> CudaLibraryOf(const std::string& path);
[[nodiscard]] Result<std::unique_ptr<Device>> OpenCudaDevice(const DeviceOptions& options);

}  // namespace reprise
