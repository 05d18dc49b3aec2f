// The attention family: what its calls mean, and the two ways of running one.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/value.h"
#include "kernels/ops/common/row_lowering.h"

namespace reprise {

// dropout(softmax(scale Q K^T + mask)) V by head. All but `lse` and `mask` are (batch, heads,
// tokens, features); pointers are into the call, or into `views`.
struct AttentionCall {
  bool backward = false;
  bool causal = false;
  double scale = 1;
  double dropout = 0;
  std::int64_t batch = 0, heads = 0, queries = 0, keys = 0;
  // Causal: query i sees the first i + 1 + shift keys, and of these the last `window`; 0: all.
  std::int64_t shift = 0, window = 0;
  std::int64_t group = 1;           // query heads that share one head of keys and values
  std::int64_t features = 0;        // of a query and a key
  std::int64_t value_features = 0;  // of a value and the output
  const TensorDesc* q = nullptr;
  const TensorDesc* k = nullptr;
  const TensorDesc* v = nullptr;
  const TensorDesc* mask = nullptr;      // optional
  const TensorDesc* out = nullptr;       // forward: written; backward: read
  const TensorDesc* lse = nullptr;       // logsumexp of the scores; forward: optional
  const TensorDesc* out_grad = nullptr;  // backward only, as the next three
  const TensorDesc* q_grad = nullptr;
  const TensorDesc* k_grad = nullptr;
  const TensorDesc* v_grad = nullptr;
  std::shared_ptr<const std::vector<TensorDesc>> views;  // where the call has other dimensions
};

// Nothing if the call is not one of them or not one that can be computed exactly: sequences of
// different lengths in one batch, windows that look ahead, queries that see no key, float64.
[[nodiscard]] std::optional<AttentionCall> ParseAttention(const OpCall& call);

// Sequences that are packed in a row: an attention each. The parts point into `calls`.
struct PackedAttention {
  std::shared_ptr<const std::vector<OpCall>> calls;
  std::vector<AttentionCall> parts;
};
// Nothing: the call is none of these (PackedSequences), or one of its parts is none.
[[nodiscard]] std::optional<PackedAttention> ParsePackedAttention(const OpCall& call);

// What dropout multiplies the probability of query i and key j of a head with: drawn again in the
// backward, by the output's storage.
[[nodiscard]] double KeptByDropout(const AttentionCall& a, std::int64_t b, std::int64_t h,
                                   std::int64_t i, std::int64_t j);

// Pairs of query and key that count.
[[nodiscard]] double AttentionPairs(const AttentionCall& a);

// Matrix products of all heads at once with the rows of scores between them, in float32 scratch.
void LowerAttention(const AttentionCall& a, RowLowering& rows);
// By blocks of queries, heads shared by cores. No dimension may be zero.
[[nodiscard]] Status RunAttentionOnHost(const AttentionCall& a, const HostBindings& memory);

// Every operator, as PyTorch records it.
[[nodiscard]] std::vector<OpCall> AttentionSamples();

}  // namespace reprise
