// The flags of `replay` and `simulate` that choose a part of a set.
#pragma once

#include <string>

#include "cli/program/commands.h"
#include "core/result.h"
#include "replayer/plan/options.h"

namespace reprise {

// As typed; `one_trace` has a value of its own because the rank may be absent.
struct PartFlags {
  std::string ranks, steps, streams, range, group_sizes;
  std::string one_trace;
  CLI::Option* one_trace_option = nullptr;
};

void AddPartFlags(CLI::App& app, PartFlags& flags);
// Usage errors name the flag.
[[nodiscard]] Status InterpretPart(const PartFlags& flags, const std::string& set,
                                   PlanOptions& options);

}  // namespace reprise
