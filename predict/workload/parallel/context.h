// Context parallelism: the sequence divided among ranks, keys and values passed round a ring.
#pragma once

#include "predict/workload/builder.h"

namespace reprise {

// Attention of this rank's queries to the keys and values of all ranks of its ring, in as many
// parts; shapes as FusedAttention. Forward: each rank's keys and values travel cp − 1 hops.
// Backward: they do so again, and their gradients travel cp hops, back to their owner.
Var RingAttention(Builder& b, const Var& q, const Var& k, const Var& v, bool causal);

}  // namespace reprise
