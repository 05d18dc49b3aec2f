// Which OpenCL devices there are, and what they say of themselves.
#pragma once

#include <vector>

#include "kernels/device.h"
#include "kernels/opencl/cl.h"

namespace reprise {

// All devices of all platforms, in the platforms' order. Empty if no ICD is registered.
[[nodiscard]] Result<std::vector<cl::Device>> EnumerateClDevices();
// Unknown fields stay empty.
[[nodiscard]] DeviceInfo DescribeClDevice(const cl::Device& device);

}  // namespace reprise
