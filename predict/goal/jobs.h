// Trace sets as one GOAL schedule, each on nodes of its own or on nodes of others.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "converters/goal/schedule.h"
#include "core/result.h"
#include "predict/goal/report.h"
#include "predict/goal/set_schedule.h"
#include "predict/simulate.h"
#include "replayer/plan/options.h"

namespace reprise {

struct GoalJob {
  std::string set_directory;
  std::vector<std::int32_t> nodes;  // by rank, each once; empty: behind those of jobs before it
};

struct GoalRequest {
  TargetMachine machine;  // "recorded": times as the sets have them
  PlanOptions plan;       // which part of the sets, and what becomes of host gaps
  GoalOptions options;
};

// One node of the result is one rank of GOAL. Ranks of several jobs on a node have cpus of their
// own, and no tag is in two jobs. Bad input: a set that cannot be read or has no times, members of
// transfers that disagree. Usage error: places that do not fit.
[[nodiscard]] Result<goal::RankSchedules> GoalOfJobs(const GoalRequest& request,
                                                     const std::vector<GoalJob>& jobs,
                                                     GoalReport& report);

}  // namespace reprise
