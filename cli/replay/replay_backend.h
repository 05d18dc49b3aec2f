// Which backend a replay computes with: what the flags name, or the best that this machine has.
#pragma once

#include <string>

#include "cli/program/commands.h"
#include "core/result.h"
#include "replayer/replay.h"

namespace reprise {

// Sets the request's backend, the reason where `device` is "auto", and what the backend needs; the
// request has the settings that were given. Where no operation runs, nothing is looked for. Of this
// rank alone; before its first call to a driver.
[[nodiscard]] Status PrepareBackend(const std::string& device, const CommandContext& context,
                                    ReplayRequest& request);

}  // namespace reprise
