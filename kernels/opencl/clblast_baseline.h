// CLBlast, the OpenCL backend's baseline for products, through its C interface.
#pragma once

#include <memory>

#include "kernels/baseline.h"

namespace reprise {

[[nodiscard]] Result<std::unique_ptr<Baseline>> OpenClBlast(const DeviceInfo& device);

}  // namespace reprise
