// Mixtures of experts, and their division among ranks: tokens travel to their experts and back.
#pragma once

#include <vector>

#include "predict/workload/builder.h"

namespace reprise {

// One expert's matrices: up (or gate and up in one), down. With "grouped_experts" those of all of a
// rank's experts, in one more dimension.
struct ExpertWeights {
  WeightAndBias up, down;
};

// x (tokens, hidden) through the experts that `router` chooses, weighted: (tokens, hidden).
// `experts` are this rank's.
Var RouteThroughExperts(Builder& b, const Var& x, const WeightAndBias& router,
                        const std::vector<ExpertWeights>& experts);
// The first two of a feed-forward block of rows: up, activation, down.
Var UpAndActivation(Builder& b, const Var& x, const ExpertWeights& weights);

}  // namespace reprise
