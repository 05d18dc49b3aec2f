#include "replayer/device_choice.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

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

// A job has a GPU per rank; here ranks are assigned to devices in turn.
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

bool HasGpu(const BackendDevices& found) {
  return !std::ranges::all_of(found.devices, &DeviceInfo::is_cpu);
}

BackendChoice ChooseBackend(std::span<const BackendDevices> found,
                            const BackendSettings& settings) {
  const DeviceInfo* on_cpu = nullptr;
  std::string_view title_on_cpu;
  std::vector<std::string_view> titles;
  std::string passed_over;
  for (const BackendDevices& one : found) {
    titles.push_back(one.backend->title());
    if (HasGpu(one)) {
      const std::string why_not = one.backend->WhyNotChosen(settings);
      if (why_not.empty()) {
        const auto gpu = std::ranges::find(one.devices, false, &DeviceInfo::is_cpu);
        return {std::string(one.backend->name()),
                fmt::format("a GPU: {}{}", gpu->name, passed_over)};
      }
      passed_over += fmt::format("; {} does not use it: {}", one.backend->name(), why_not);
    } else if (on_cpu == nullptr && !one.devices.empty()) {
      on_cpu = &one.devices.front();
      title_on_cpu = one.backend->title();
    }
  }
  const std::string fallback(FallbackBackend().name());
  if (!passed_over.empty()) {
    return {fallback, fmt::format("no other device can be used{}", passed_over)};
  }
  if (on_cpu == nullptr) {
    return {fallback, fmt::format("this machine has no {} device", fmt::join(titles, " or "))};
  }
  return {fallback, fmt::format("this machine has no GPU; {}, {}'s device on its CPU, is slower",
                                on_cpu->platform, title_on_cpu)};
}

std::string BackendPreference() {
  std::vector<std::string_view> titles;
  for (const std::unique_ptr<Backend>& backend : Backends()) {
    if (!backend->is_always_there()) {
      titles.push_back(backend->title());
    }
  }
  return fmt::format("a GPU by {}, else {}", fmt::join(titles, " or "), FallbackBackend().name());
}

Result<int> ChooseDevice(const ReplayOptions& options, std::span<const DeviceInfo> devices,
                         int local_rank, int local_size) {
  const auto count = static_cast<int>(devices.size());
  if (count == 0) {
    return options.device_index.value_or(0);  // opening it reports why there is none
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
