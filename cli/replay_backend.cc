#include "cli/replay_backend.h"

#include <algorithm>
#include <optional>

#include "cli/opencl_drivers.h"
#include "kernels/device.h"
#include "replayer/device_choice.h"

namespace reprise {
namespace {

bool RunsOperations(const ReplayOptions& options) {
  const auto runs = [](ReplayMode mode) {
    return mode == ReplayMode::kReal || mode == ReplayMode::kSurrogate;
  };
  return options.preset != ReplayPreset::kDry &&
         (runs(options.default_op_mode) ||
          std::any_of(options.op_modes.begin(), options.op_modes.end(),
                      [&](const auto& mode) { return runs(mode.second); }));
}

// Nothing where it is left to what this machine has.
std::optional<BackendChoice> ChosenByFlags(const BackendFlags& flags,
                                           const ReplayOptions& options) {
  if (flags.device != "auto") {
    return BackendChoice{flags.device, ""};
  }
  if (!options.torch.empty() || !options.blas.empty()) {
    return BackendChoice{"host", "--torch and --blas work on it"};
  }
  const bool tuned = !flags.tuning.file.empty() && flags.tuning.file != "none";
  if (!flags.icds.empty() || tuned || flags.tuning.allow_tf32) {
    return BackendChoice{"opencl", "--icd, --tuning and --allow-tf32 work on it"};
  }
  return std::nullopt;
}

}  // namespace

Status PrepareBackend(const BackendFlags& flags, const CommandContext& context,
                      ReplayRequest& request) {
  std::optional<BackendChoice> choice = ChosenByFlags(flags, request.options);
  if (!RunsOperations(request.options)) {
    request.options.backend = choice ? choice->backend : "host";
    return {};
  }
  if (!choice || choice->backend == "opencl") {
    const Result<IcdSearch> search = PrepareOpenClDrivers(flags.icds);
    if (!search && choice) {
      return tl::unexpected<Error>(search.error());
    }
  }
  if (!choice) {
    choice = ChooseBackend(ListDevices("opencl").value_or(std::vector<DeviceInfo>{}));
  }
  request.options.backend = choice->backend;
  request.device_reason = choice->reason;
  if (choice->backend == "opencl") {
    REPRISE_ASSIGN(request.options.tuning, ReadTuning(context, flags.tuning));
    request.options.allow_tf32 = flags.tuning.allow_tf32;
  }
  return {};
}

}  // namespace reprise
