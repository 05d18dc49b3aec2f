#include "cli/replay/replay_backend.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "cli/replay/backend_options.h"
#include "kernels/backend.h"
#include "replayer/device_choice.h"

namespace reprise {
namespace {

bool RunsOperations(const ReplayOptions& options) {
  const auto runs = [](ReplayMode mode) { return Executes(mode); };
  return runs(options.default_op_mode) ||
         std::ranges::any_of(options.op_modes, [&](const auto& mode) { return runs(mode.second); });
}

bool IsGiven(const BackendSetting& setting, const BackendSettings& settings) {
  const bool off =
      setting.kind == BackendSetting::Kind::kTuning && settings.Text(setting.name) == kNoTuning;
  return settings.Has(setting.name) && !off;
}

// "--icd, --tuning and --allow-tf32 work on it"
std::string WhyForSettings(const Backend& backend) {
  std::vector<std::string> names;
  for (const BackendSetting& setting : backend.settings()) {
    names.push_back(fmt::format("--{}", setting.name));
  }
  const std::string last = names.back();
  names.pop_back();
  return names.empty() ? fmt::format("{} works on it", last)
                       : fmt::format("{} and {} work on it", fmt::join(names, ", "), last);
}

BackendDevices DevicesOf(const Backend& backend) {
  return {&backend, backend.List().value_or(std::vector<DeviceInfo>{})};
}

// It has a GPU, or needs none.
bool MayRun(const Backend& backend, const BackendSettings& settings) {
  return backend.is_always_there() ||
         (HasGpu(DevicesOf(backend)) && backend.WhyNotChosen(settings).empty());
}

// A setting that no other backend has.
bool IsOnlyOf(const Backend& owner, const BackendSetting& setting) {
  return std::ranges::none_of(Backends(), [&](const std::unique_ptr<Backend>& other) {
    return other.get() != &owner && HasSetting(*other, setting.name);
  });
}

// Nothing where it is left to what this machine has. Of several backends whose settings are given,
// the last: that of the first needs no setting to be chosen. A setting that backends share chooses
// the first that may run with the `settings` that "auto" was replaced in.
std::optional<BackendChoice> ChosenByFlags(const std::string& device, const BackendSettings& given,
                                           const BackendSettings& settings) {
  if (device != "auto") {
    return BackendChoice{device, ""};
  }
  std::optional<BackendChoice> choice;
  bool shared_is_used = false;
  for (const std::unique_ptr<Backend>& backend : Backends()) {
    for (const BackendSetting& setting : backend->settings()) {
      if (!IsGiven(setting, given)) {
        continue;
      }
      const bool shared = !IsOnlyOf(*backend, setting);
      if (!shared || (!shared_is_used && MayRun(*backend, settings))) {
        choice = {std::string(backend->name()), WhyForSettings(*backend)};
        shared_is_used = shared_is_used || shared;
      }
    }
  }
  return choice;
}

// The devices of every backend that may lack some.
std::vector<BackendDevices> LookForDevices() {
  std::vector<BackendDevices> found;
  for (const std::unique_ptr<Backend>& backend : Backends()) {
    if (!backend->is_always_there()) {
      found.push_back(DevicesOf(*backend));
    }
  }
  return found;
}

// What was looked for without being told, for a GPU that was not chosen.
void DropUnused(const Backend& backend, const BackendSettings& given, BackendSettings& settings) {
  for (const std::unique_ptr<Backend>& other : Backends()) {
    for (const BackendSetting& setting : other->settings()) {
      if (setting.is_looked_for && !given.Has(setting.name) &&
          (backend.is_always_there() || !HasSetting(backend, setting.name))) {
        settings.Set(std::string(setting.name), "");
      }
    }
  }
}

}  // namespace

bool MayUseLookedFor(const std::string& device, const ReplayOptions& options) {
  if (!RunsOperations(options)) {
    return false;
  }
  for (const std::unique_ptr<Backend>& backend : Backends()) {
    const bool looks = std::ranges::any_of(backend->settings(), &BackendSetting::is_looked_for);
    if (looks && (device == "auto" || device == backend->name()) && HasGpu(DevicesOf(*backend))) {
      return true;
    }
  }
  return false;
}

Status PrepareBackend(const std::string& device, const BackendSettings& given,
                      const CommandContext& context, ReplayRequest& request) {
  const BackendSettings& settings = request.options.settings;
  std::optional<BackendChoice> choice = ChosenByFlags(device, given, settings);
  if (!RunsOperations(request.options)) {
    request.options.backend = choice ? choice->backend : FallbackBackend().name();
    return {};
  }
  for (const std::unique_ptr<Backend>& backend : Backends()) {
    if (!choice || choice->backend == backend->name()) {
      const auto prepared = PrepareDrivers(*backend, settings);
      if (!prepared && choice) {
        return tl::unexpected<Error>(prepared.error());
      }
    }
  }
  if (!choice) {
    choice = ChooseBackend(LookForDevices(), settings);
  }
  request.options.backend = choice->backend;
  request.device_reason = choice->reason;
  REPRISE_ASSIGN(const Backend* backend, BackendNamed(choice->backend));
  DropUnused(*backend, given, request.options.settings);
  REPRISE_ASSIGN(request.options.tuning, TuningOf(*backend, settings, context));
  return {};
}

}  // namespace reprise
