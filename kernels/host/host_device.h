// The host backend: buffers are host memory, a stream is a thread that runs tasks in order.
#pragma once

#include <memory>
#include <string>

#include "kernels/device.h"

namespace reprise {

[[nodiscard]] DeviceInfo DescribeHost();
// `blas` as UseBlas takes it, `torch` as UseTorch does.
[[nodiscard]] Result<std::unique_ptr<Device>> OpenHostDevice(const std::string& blas,
                                                             const std::string& torch);

}  // namespace reprise
