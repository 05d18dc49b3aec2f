// What the operators of the attention family mean.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "core/value.h"

namespace reprise {

// softmax(scale Q K^T + mask) V by head. All but `lse` and `mask` are (batch, heads, tokens,
// features); pointers are into the call.
struct AttentionCall {
  bool backward = false;
  bool causal = false;
  double scale = 1;
  std::int64_t batch = 0, heads = 0, queries = 0, keys = 0;
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
};

[[nodiscard]] std::span<const std::string_view> AttentionOperators();
// Nothing if the call is not one of them or not one that can be computed exactly: dropout, heads
// shared between queries, float64.
[[nodiscard]] std::optional<AttentionCall> ParseAttention(const OpCall& call);

// Pairs of query and key that count.
[[nodiscard]] double AttentionPairs(const AttentionCall& a);

}  // namespace reprise
