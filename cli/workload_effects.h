// Options of a job that change nothing in it. They are refused, with the reason, so that a
// prediction is not taken for one of what an option asked for.
#pragma once

#include <set>
#include <string>

#include "cli/workload_flags.h"
#include "core/result.h"

namespace reprise {

// `workload`: with all options (DescribeWorkload). `swept`: options that a sweep varies; what
// depends on one of these is left alone, for it may have an effect in some configuration.
// Usage error: an option without effect.
[[nodiscard]] Status CheckWorkloadEffects(const WorkloadFlags& flags, const Workload& workload,
                                          const std::set<std::string>& swept = {});

}  // namespace reprise
