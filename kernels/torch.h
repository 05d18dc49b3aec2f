// Which calls Kernel::Lower leaves to the library that DeviceOptions::torch names.
#pragma once

#include "core/value.h"

namespace reprise {

// False while none is in use. Thread-safe once the device is open.
[[nodiscard]] bool IsLeftToTorch(const OpCall& call);

}  // namespace reprise
