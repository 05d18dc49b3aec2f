// The flags that say what telemetry reads and how often: replay, monitor, list.
#pragma once

#include <string>
#include <vector>

#include "cli/program/commands.h"
#include "core/result.h"
#include "report/telemetry/sampler.h"

namespace reprise {

struct SamplingFlags {
  std::string periods = "20";
  std::vector<std::string> libraries;
  std::string root;
};

// --telemetry-library and --telemetry-root.
void AddSourceFlags(CLI::App& app, SamplingFlags& flags);
// These and --sample-period.
void AddSamplingFlags(CLI::App& app, SamplingFlags& flags);
// period_ns 0: nothing is sampled. Usage errors name the flag.
[[nodiscard]] Result<SamplerOptions> InterpretSampling(const SamplingFlags& flags);

}  // namespace reprise
