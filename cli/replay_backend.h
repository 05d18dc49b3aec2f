// Which backend a replay computes with: what the flags name, or the best that this machine has.
#pragma once

#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/tuning_file.h"
#include "core/result.h"
#include "replayer/replay.h"

namespace reprise {

struct BackendFlags {
  const std::string& device;  // "auto", "opencl" or "host"
  const std::vector<std::string>& icds;
  const TuningFlags& tuning;
};

// Sets the request's backend, the reason where `device` is "auto", and what OpenCL needs. Where no
// operation runs, nothing is looked for. Of this rank alone; before its first OpenCL call.
[[nodiscard]] Status PrepareBackend(const BackendFlags& flags, const CommandContext& context,
                                    ReplayRequest& request);

}  // namespace reprise
