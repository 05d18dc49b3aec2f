#include "replayer/device_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace reprise {
namespace {

Result<int> Listed(const DeviceMap& map, int local_rank, int count) {
  const auto at = map.device_of.find(local_rank);
  if (at == map.device_of.end()) {
    return UsageError(fmt::format("--device-map names no device for local rank {}; add {}:<device>",
                                  local_rank, local_rank));
  }
  if (at->second >= count) {
    return UsageError(fmt::format(
        "--device-map: local rank {} is to use device {}, but there {} {}; see reprise devices",
        local_rank, at->second, count == 1 ? "is only" : "are", count));
  }
  return at->second;
}

// A job has a GPU per rank; here ranks take turns.
int Default(const ReplayOptions& options, std::span<const DeviceInfo> devices, int local_rank) {
  std::vector<int> gpus;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (!devices[i].is_cpu) {
      gpus.push_back(static_cast<int>(i));
    }
  }
  if (options.device_index || gpus.empty()) {
    return options.device_index.value_or(0);
  }
  return gpus[static_cast<std::size_t>(local_rank) % gpus.size()];
}

}  // namespace

BackendChoice ChooseBackend(std::span<const DeviceInfo> opencl) {
  for (const DeviceInfo& device : opencl) {
    if (!device.is_cpu) {
      return {"opencl", fmt::format("a GPU: {}", device.name)};
    }
  }
  if (opencl.empty()) {
    return {"host", "this machine has no OpenCL device"};
  }
  return {"host", fmt::format("this machine has no GPU; {}, OpenCL's device on its CPU, is slower",
                              opencl.front().platform)};
}

Result<int> ChooseDevice(const ReplayOptions& options, std::span<const DeviceInfo> devices,
                         int local_rank, int local_size) {
  const auto count = static_cast<int>(devices.size());
  if (count == 0) {
    return options.device_index.value_or(0);  // opening it says why there is none
  }
  const int per_device = (std::max(local_size, 1) + count - 1) / count;
  switch (options.device_map.kind) {
    case DeviceMap::Kind::kDefault:
      return Default(options, devices, local_rank);
    case DeviceMap::Kind::kRoundRobin:
      return local_rank % count;
    case DeviceMap::Kind::kPacked:
      return local_rank / per_device;
    case DeviceMap::Kind::kListed:
      return Listed(options.device_map, local_rank, count);
  }
  return 0;
}

}  // namespace reprise
