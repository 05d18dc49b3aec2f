// The transfers of a set that become messages in its GOAL schedule, and these messages.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "collectives/algorithms/algorithm_choices.h"
#include "collectives/algorithms/messages.h"
#include "core/result.h"
#include "predict/goal/report.h"
#include "replayer/plan/simulated_run.h"

namespace reprise {

struct GoalMember {
  std::int32_t rank = 0;  // of the set, as simulated
  Graph::Index node = 0;
  MemberMessages channels;
};

using GoalTransfer = std::vector<GoalMember>;

// Ring for all_reduce, reduce_scatter and all_gather, partner by partner for all_to_all, binomial
// trees for broadcast and reduce, root and each for gather and scatter, dissemination for barriers;
// each in one lane. `algo`: choices that override these (AlgorithmChoices::Add). Usage error: no
// such algorithm, or one that is no list of messages.
[[nodiscard]] Result<AlgorithmChoices> GoalAlgorithms(std::span<const std::string> algo);

// Matched by the same rule as in a simulation (SequenceOf, index). What lacks something, or what
// not all members have, is counted in report.timed, and not in the result. Bad input: members that
// disagree on kind or sizes. Usage error: more messages than `most_messages`.
[[nodiscard]] Result<std::vector<GoalTransfer>> FindGoalTransfers(const SimulatedSet& set,
                                                                  const AlgorithmChoices& choices,
                                                                  std::uint64_t most_messages,
                                                                  GoalReport& report);

}  // namespace reprise
