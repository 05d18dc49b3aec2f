// What a trace set has beside what a run has (report/run/run.h).
#pragma once

#include <vector>

#include "core/result.h"
#include "et_schema/graph.h"
#include "report/run/run.h"

namespace reprise {

// By graph index. Bad input: arguments that cannot be decoded.
[[nodiscard]] Result<std::vector<NodeOrigin>> OriginsOf(const Graph& graph);

// Sets NodeOrigin::module of nodes of threads, by the ranges around their starts: modules that a
// profiler recorded (with_modules or with_stack), and what the program marked itself.
void FillModulePaths(const Graph& graph, std::vector<NodeOrigin>& origins);

// Weights that a training step changes, and those that it leaves as they are (fine-tuning of
// adapters: LoRA, Hu et al. 2021). Weights are two-dimensional floating tensors older than the
// trace that products read; those that the optimizer writes are trained. Zeros: no optimizer ran,
// or storages have no identities.
[[nodiscard]] WeightCounts CountWeights(const Graph& graph);

}  // namespace reprise
