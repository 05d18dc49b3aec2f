#include "kernels/backend.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/nearest.h"

namespace reprise {

#define BACKEND(name) std::unique_ptr<Backend> Make##name##Backend();
#include "kernels/backends.def"
#undef BACKEND

std::span<const std::unique_ptr<Backend>> Backends() {
  static const auto registered = [] {
    std::vector<std::unique_ptr<Backend>> backends;
#define BACKEND(name) backends.push_back(Make##name##Backend());
#include "kernels/backends.def"
#undef BACKEND
    return backends;
  }();
  return registered;
}

const Backend* FindBackend(std::string_view name) {
  const auto backends = Backends();
  const auto it = std::find_if(backends.begin(), backends.end(),
                               [&](const auto& backend) { return backend->name() == name; });
  return it == backends.end() ? nullptr : it->get();
}

const Backend& FallbackBackend() {
  const auto backends = Backends();
  return **std::find_if(backends.begin(), backends.end(),
                        [](const auto& backend) { return backend->is_always_there(); });
}

std::vector<std::string> BackendNames() {
  std::vector<std::string> names;
  for (const std::unique_ptr<Backend>& backend : Backends()) {
    names.emplace_back(backend->name());
  }
  return names;
}

Result<const Backend*> BackendNamed(const std::string& name) {
  if (const Backend* backend = FindBackend(name)) {
    return backend;
  }
  const std::vector<std::string> names = BackendNames();
  return UsageError(fmt::format("unknown device backend '{}' ({}){}", name,
                                fmt::join(names, " or "), DidYouMean(name, names)));
}

bool HasSetting(const Backend& backend, std::string_view name) {
  const auto settings = backend.settings();
  return std::ranges::find(settings, name, &BackendSetting::name) != settings.end();
}

std::string BackendsWith(std::string_view setting) {
  std::vector<std::string_view> names;
  for (const std::unique_ptr<Backend>& backend : Backends()) {
    if (HasSetting(*backend, setting)) {
      names.push_back(backend->name());
    }
  }
  return fmt::format("{}", fmt::join(names, " or "));
}

Result<std::vector<DeviceInfo>> ListDevices(const std::string& backend) {
  REPRISE_ASSIGN(const Backend* found, BackendNamed(backend));
  return found->List();
}

Result<std::unique_ptr<Device>> OpenDevice(const DeviceOptions& options) {
  REPRISE_ASSIGN(const Backend* chosen, BackendNamed(options.backend));
  for (const std::unique_ptr<Backend>& other : Backends()) {
    for (const BackendSetting& setting : other->settings()) {
      if (setting.is_error_elsewhere && options.settings.Has(setting.name) &&
          !HasSetting(*chosen, setting.name)) {
        return UsageError(
            fmt::format("--{} is for --device {}", setting.name, BackendsWith(setting.name)));
      }
    }
  }
  return chosen->Open(options);
}

}  // namespace reprise
