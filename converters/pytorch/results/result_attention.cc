// Attention over (batch, heads, tokens, features). Random states and packed sequences' offsets are
// None: no more is known of them, and no kernel reads them.
#include <cstddef>

#include "converters/pytorch/results/result_layouts.h"
#include "converters/pytorch/results/result_rules.h"

namespace reprise::pytorch {
namespace {

struct Sizes {
  const TensorDesc *q = nullptr, *k = nullptr, *v = nullptr;
  [[nodiscard]] std::int64_t batch() const { return q->shape[0]; }
  [[nodiscard]] std::int64_t heads() const { return q->shape[1]; }
  [[nodiscard]] std::int64_t queries() const { return q->shape[2]; }
};

std::optional<Sizes> AttentionSizes(const CallInputs& in, std::size_t first) {
  const Sizes s = {in.Tensor(first), in.Tensor(first + 1), in.Tensor(first + 2)};
  for (const TensorDesc* t : {s.q, s.k, s.v}) {
    if (t == nullptr || t->shape.size() != 4 || t->dtype != s.q->dtype ||
        t->shape[0] != s.q->shape[0]) {
      return std::nullopt;
    }
  }
  return s.k->shape[2] == s.v->shape[2] && s.q->shape[3] == s.k->shape[3] ? std::optional(s)
                                                                          : std::nullopt;
}

// A tensor laid out as (batch, tokens, heads, features).
TensorDesc TokensFirst(const TensorDesc& like, const Shape& shape) {
  TensorDesc t = Contiguous(like, like.dtype, {shape[0], shape[2], shape[1], shape[3]});
  std::swap(t.shape[1], t.shape[2]);
  std::swap(t.strides[1], t.strides[2]);
  return t;
}

TensorDesc OutputOf(const Sizes& s) {
  return TokensFirst(*s.q, {s.batch(), s.heads(), s.queries(), s.v->shape[3]});
}

}  // namespace

// (q, k, v, dropout_p, is_causal, return_debug_mask, scale?) -> (output, logsumexp, offsets of q,
// of k, max_q, max_k, seed, offset, debug mask). Version 2.0 had no scale, and padded logsumexp.
Results FlashAttention(const CallInputs& in) {
  const auto s = AttentionSizes(in, 0);
  const auto debug = in.Flag(5);
  if (!s || in.size() != 7 || !debug || *debug || s->q->shape[3] != s->v->shape[3]) {
    return std::nullopt;
  }
  ValueList out = {{Like(*s->q, s->q->dtype)},
                   {Contiguous(*s->q, DType::kFloat32, {s->batch(), s->heads(), s->queries()})}};
  out.resize(9);
  out[4] = {s->queries()};
  out[5] = {s->k->shape[2]};
  return out;
}

// (grad, q, k, v, out, logsumexp, …) -> their gradients
Results FlashAttentionBackward(const CallInputs& in) {
  const auto s = AttentionSizes(in, 1);
  if (!s || in.size() != 15) {
    return std::nullopt;
  }
  return Several({Like(*s->q, s->q->dtype), Like(*s->k, s->k->dtype), Like(*s->v, s->v->dtype)});
}

// (q, k, v, attn_bias?, compute_log_sumexp, dropout_p, is_causal, scale?) -> (output, logsumexp,
// seed, offset). The rows of logsumexp are padded to 32 by some backends.
Results EfficientAttention(const CallInputs& in) {
  constexpr std::int64_t kPadding = 32;
  const auto s = AttentionSizes(in, 0);
  const auto wanted = in.Flag(4);
  if (!s || in.size() != 8 || !wanted || (*wanted && s->queries() % kPadding != 0)) {
    return std::nullopt;
  }
  return Several(
      {OutputOf(*s),
       Contiguous(*s->q, DType::kFloat32, {s->batch(), s->heads(), *wanted ? s->queries() : 0}),
       std::nullopt, std::nullopt});
}

// (grad, q, k, v, attn_bias, out, logsumexp, seed, offset, dropout_p, mask[4], is_causal, scale?)
Results EfficientAttentionBackward(const CallInputs& in) {
  const auto s = AttentionSizes(in, 1);
  const auto mask = in.Integers(10);
  if (!s || in.size() != 13 || !mask || *mask != std::vector<std::int64_t>{1, 1, 1, 0}) {
    return std::nullopt;
  }
  return Several({TokensFirst(*s->q, s->q->shape), TokensFirst(*s->k, s->k->shape),
                  TokensFirst(*s->v, s->v->shape), std::nullopt});
}

// (q, k, v, dropout_p, is_causal, attn_mask?, scale?) -> (output, logsumexp)
Results CpuAttention(const CallInputs& in) {
  const auto s = AttentionSizes(in, 0);
  if (!s || in.size() != 7) {
    return std::nullopt;
  }
  const DType type = AccumulateType(s->q->dtype);
  TensorDesc sums = Contiguous(*s->q, type, {s->batch(), s->queries(), s->heads()});
  std::swap(sums.shape[1], sums.shape[2]);
  std::swap(sums.strides[1], sums.strides[2]);
  return Several({OutputOf(*s), sums});
}

// (grad, q, k, v, out, logsumexp, dropout_p, is_causal, attn_mask?, scale?)
Results CpuAttentionBackward(const CallInputs& in) {
  const auto s = AttentionSizes(in, 1);
  if (!s || in.size() != 10) {
    return std::nullopt;
  }
  return Several({TokensFirst(*s->q, s->q->shape), TokensFirst(*s->k, s->k->shape),
                  TokensFirst(*s->v, s->v->shape)});
}

}  // namespace reprise::pytorch
