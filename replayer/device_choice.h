// Which device a rank uses.
#pragma once

#include <span>
#include <string>

#include "core/result.h"
#include "kernels/device.h"
#include "replayer/options.h"

namespace reprise {

struct BackendChoice {
  std::string backend;  // "opencl" or "host"
  std::string reason;   // "this machine has no GPU that OpenCL can use"
};

// The best backend for a machine whose OpenCL devices are `opencl`: a GPU, else the host backend,
// which is faster than a CPU's OpenCL device.
[[nodiscard]] BackendChoice ChooseBackend(std::span<const DeviceInfo> opencl);

// An index into `devices`, which are all of the options' backend (docs/parts.md). Usage error where
// the map has no device for the rank, or one that is not there.
[[nodiscard]] Result<int> ChooseDevice(const ReplayOptions& options,
                                       std::span<const DeviceInfo> devices, int local_rank,
                                       int local_size);

}  // namespace reprise
