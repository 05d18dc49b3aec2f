// Weights that a training step changes, and those that it leaves as they are (fine-tuning of
// adapters: LoRA, Hu et al. 2021).
#pragma once

#include "et_schema/graph.h"
#include "recordings/recording.h"

namespace reprise {

// Sets the four numbers of weights, where storages have identities and an optimizer ran: weights
// are two-dimensional floating tensors older than the trace that products read; those that the
// optimizer writes are trained. Zeros: no optimizer, or identities are not recorded.
void CountWeights(const Graph& graph, RankRecording& rank);

}  // namespace reprise
