// The host backend: buffers are host memory, a stream is a thread that runs tasks in order.
#pragma once

#include <memory>

#include "kernels/device.h"

namespace reprise {

inline constexpr const char* kHostBackend = "host";
// A library of float32 products in place of oneDNN's (kernels/cpu/blas.h).
inline constexpr const char* kBlasSetting = "blas";

[[nodiscard]] DeviceInfo DescribeHost();
// Environment error if a library that the settings name is not what it should be.
[[nodiscard]] Result<std::unique_ptr<Device>> OpenHostDevice(const BackendSettings& settings);

}  // namespace reprise
