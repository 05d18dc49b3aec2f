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

// Nothing where it is left to what this machine has. Of several backends whose settings are given,
// the last: that of the first needs no setting to be chosen.
std::optional<BackendChoice> ChosenByFlags(const std::string& device,
                                           const BackendSettings& settings) {
  if (device != "auto") {
    return BackendChoice{device, ""};
  }
  std::optional<BackendChoice> choice;
  for (const std::unique_ptr<Backend>& backend : Backends()) {
    const auto owned = backend->settings();
    if (std::ranges::any_of(
            owned, [&](const BackendSetting& setting) { return IsGiven(setting, settings); })) {
      choice = {std::string(backend->name()), WhyForSettings(*backend)};
    }
  }
  return choice;
}

// The devices of every backend that may lack some.
std::vector<BackendDevices> LookForDevices() {
  std::vector<BackendDevices> found;
  for (const std::unique_ptr<Backend>& backend : Backends()) {
    if (!backend->is_always_there()) {
      found.push_back({backend.get(), backend->List().value_or(std::vector<DeviceInfo>{})});
    }
  }
  return found;
}

}  // namespace

Status PrepareBackend(const std::string& device, const CommandContext& context,
                      ReplayRequest& request) {
  const BackendSettings& settings = request.options.settings;
  std::optional<BackendChoice> choice = ChosenByFlags(device, settings);
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
    choice = ChooseBackend(LookForDevices());
  }
  request.options.backend = choice->backend;
  request.device_reason = choice->reason;
  REPRISE_ASSIGN(const Backend* backend, BackendNamed(choice->backend));
  REPRISE_ASSIGN(request.options.tuning, TuningOf(*backend, settings, context));
  return {};
}

}  // namespace reprise
