// The host backend: buffers are host memory, a stream is a thread that runs tasks in order.
#pragma once

#include <memory>

#include "kernels/device.h"

namespace reprise {

[[nodiscard]] DeviceInfo DescribeHost();
[[nodiscard]] Result<std::unique_ptr<Device>> OpenHostDevice();

}  // namespace reprise
