// Which device a rank uses.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/result.h"
#include "kernels/backend.h"
#include "replayer/engine/replay_options.h"

namespace reprise {

struct BackendChoice {
  std::string backend;  // Backend::name
  std::string reason;   // "this machine has no OpenCL device"
};

struct BackendDevices {
  const Backend* backend = nullptr;
  std::vector<DeviceInfo> devices;
};
[[nodiscard]] bool HasGpu(const BackendDevices& found);
// The best backend for a machine whose devices are `found`, by backend, the fallback's (which is
// always there) left out: the first that has a GPU and may be chosen (Backend::WhyNotChosen), else
// the fallback, which is faster than another backend's device on a CPU.
[[nodiscard]] BackendChoice ChooseBackend(std::span<const BackendDevices> found,
                                          const BackendSettings& settings);
// The same, for a help text: "a GPU by OpenCL, else host".
[[nodiscard]] std::string BackendPreference();

// An index into `devices`, which are all of the options' backend (docs/parts.md). Usage error where
// the map has no device for the rank, or one that is not there.
[[nodiscard]] Result<int> ChooseDevice(const ReplayOptions& options,
                                       std::span<const DeviceInfo> devices, int local_rank,
                                       int local_size);

}  // namespace reprise
