// Context parallelism: the sequence divided among ranks, in 2 cp chunks. The i-th rank has chunks i
// and 2 cp - 1 - i, so that all have as many pairs of a query and a key under a causal mask
// (Megatron-LM, get_batch_on_this_cp_rank in megatron/core/utils.py).
#pragma once

#include <vector>

#include "predict/workload/builder.h"
#include "predict/workload/ops/model_operators.h"

namespace reprise {

// Attention of this rank's queries to the keys and values of all its context-parallel ranks, by
// Layout::cp_comm_type, as Transformer Engine's context_parallel.py has it; shapes as
// FusedAttention.
[[nodiscard]] Var ContextAttention(Builder& b, const Var& q, const Var& k, const Var& v,
                                   const AttentionKind& kind);

// Its kinds. In as many parts as there are ranks. Forward: each rank's keys and values travel
// cp - 1 hops. Backward: they do so again, and their gradients travel cp hops, back to their owner.
[[nodiscard]] Var RingAttention(Builder& b, const Var& q, const Var& k, const Var& v, bool causal);
// Keys and values are gathered, backward once more; the sums of their gradients are scattered.
// Each of the rank's two chunks of queries sees the keys up to its own end.
[[nodiscard]] Var GatheredAttention(Builder& b, const Var& q, const Var& k, const Var& v,
                                    const AttentionKind& kind);
// All heads of this rank's tokens (batch, heads, tokens, features) to all tokens of 1 / cp of the
// heads, each by an all-to-all; and back. Chunks are brought into the order of the sequence.
[[nodiscard]] std::vector<Var> TokensToHeads(Builder& b, const std::vector<Var>& tokens);
[[nodiscard]] Var HeadsToTokens(Builder& b, const Var& heads);

// The tokens [first, first + count) of a tensor that has them in this dimension.
[[nodiscard]] TensorDesc TokensOf(Builder& b, const TensorDesc& x, std::int64_t dim,
                                  std::int64_t first, std::int64_t count);
// Chunks (2 cp, tokens of a chunk, …) as the ranks have them one after the other, in the order of
// the sequence; and back.
[[nodiscard]] TensorDesc InOrder(Builder& b, const TensorDesc& of_ranks);
[[nodiscard]] TensorDesc ByRanks(Builder& b, const TensorDesc& in_order);

inline constexpr const char* kContextGroup = "cp";

}  // namespace reprise
