// A set as Reprise simulates it, as a GOAL schedule: the same nodes, times and dependencies, with
// messages in place of transfers.
#pragma once

#include <cstdint>

#include "collectives/algorithms/algorithm_choices.h"
#include "converters/goal/schedule.h"
#include "core/result.h"
#include "predict/goal/rank_schedule.h"
#include "predict/goal/report.h"
#include "replayer/plan/simulated_run.h"

namespace reprise {

struct GoalOptions {
  AlgorithmChoices algorithms;  // GoalAlgorithms
  GoalCpus cpus = GoalCpus::kStreams;
  std::uint64_t most_messages = 0;  // of a set
};

// `set` and `schedule` as Simulation::scheduled has them. A node that lasts no time and waits for
// at most one other is not written: what waits for it waits for that one. Tags begin at
// `first_tag`, which is moved behind them. Bad input, usage error: as FindGoalTransfers.
[[nodiscard]] Result<goal::RankSchedules> GoalOfSet(const SimulatedSet& set,
                                                    const Schedule& schedule,
                                                    const GoalOptions& options,
                                                    std::uint32_t& first_tag, GoalReport& report);

}  // namespace reprise
