// Which device a rank uses.
#pragma once

#include <span>

#include "core/result.h"
#include "kernels/device.h"
#include "replayer/options.h"

namespace reprise {

// An index into `devices`, which are all of the options' backend (docs/parts.md). Usage error where
// the map has no device for the rank, or one that is not there.
[[nodiscard]] Result<int> ChooseDevice(const ReplayOptions& options,
                                       std::span<const DeviceInfo> devices, int local_rank,
                                       int local_size);

}  // namespace reprise
