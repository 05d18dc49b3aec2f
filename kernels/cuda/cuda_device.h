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
// Whether PyTorch's library for CUDA devices, `path` or the one beside it, can use device `index`.
// Environment error if there is no such library, or with PyTorch's words: its release may be too
// new for the driver.
[[nodiscard]] Status CheckTorchForCuda(const std::string& path, int index);
[[nodiscard]] Result<std::unique_ptr<Device>> OpenCudaDevice(const DeviceOptions& options);

}  // namespace reprise
