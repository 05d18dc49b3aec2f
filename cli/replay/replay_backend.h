// Which backend a replay computes with: what the flags name, or the best that this machine has.
#pragma once

#include <string>

#include "cli/program/commands.h"
#include "core/result.h"
#include "replayer/replay.h"

namespace reprise {

// True if operations run, and a backend that may be chosen has a GPU and a library that is looked
// for without being told (BackendSetting::is_looked_for).
[[nodiscard]] bool MayUseLookedFor(const std::string& device, const ReplayOptions& options);

// Sets the request's backend, the reason where `device` is "auto", and what the backend needs; the
// request has the settings that were `given` and those that were looked for, of which the backend's
// remain. Where no operation runs, nothing is looked for. Of this rank alone; before its first call
// to an OpenCL driver.
[[nodiscard]] Status PrepareBackend(const std::string& device, const BackendSettings& given,
                                    const CommandContext& context, ReplayRequest& request);

}  // namespace reprise
