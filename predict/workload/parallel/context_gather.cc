// Attention to keys and values that are gathered from all context-parallel ranks, as Transformer
// Engine's AttnFuncWithCPAndKVAllGather.
#include <algorithm>
#include <array>

#include "predict/workload/parallel/context.h"

namespace reprise {
namespace {

constexpr std::size_t kChunksOfRank = 2;

// (batch, heads, tokens, features) of what is (tokens, batch, heads, features) in memory.
TensorDesc HeadsBeforeTokens(Builder& b, const TensorDesc& t) {
  return b.out.Host(
      "aten::permute", Args(t, Ints{1, 2, 0, 3}),
      b.out.Alias(t, {t.shape[1], t.shape[2], t.shape[0], t.shape[3]},
                  {t.strides[1], t.strides[2], t.strides[0], t.strides[3]}, t.offset));
}

// Back, in memory of its own unless it is dense so.
TensorDesc DenseTokensFirst(Builder& b, const TensorDesc& t) {
  TensorDesc turned =
      b.out.Host("aten::permute", Args(t, Ints{2, 0, 1, 3}),
                 b.out.Alias(t, {t.shape[2], t.shape[0], t.shape[1], t.shape[3]},
                             {t.strides[2], t.strides[0], t.strides[1], t.strides[3]}, t.offset));
  if (IsContiguous(turned)) {
    return turned;
  }
  TensorDesc dense = b.out.Host("aten::empty_like", Args(turned, 15, 0, kNoValue, kNoValue, 0),
                                b.out.New(t.dtype, turned.shape));
  b.out.InPlace("aten::copy_", dense, turned, false);
  return dense;
}

// (tokens, …) as (2 cp, tokens of a chunk, …).
TensorDesc AsChunks(Builder& b, const TensorDesc& t) {
  std::vector<std::int64_t> shape = t.shape;
  shape[0] /= 2 * b.layout().cp;
  shape.insert(shape.begin(), 2 * b.layout().cp);
  return b.Shaped(t, shape);
}

// A rank's part to that of all, in the order of the sequence.
TensorDesc GatherTokens(Builder& b, const TensorDesc& part) {
  std::vector<std::int64_t> shape = part.shape;
  shape[0] *= b.layout().cp;
  const TensorDesc whole = b.out.New(part.dtype, shape);
  b.out.Wait(b.AllGather(kContextGroup, part, whole));
  return HeadsBeforeTokens(b, b.Shaped(InOrder(b, AsChunks(b, whole)), shape));
}

// The sum of all ranks' gradients of the whole, to this rank's part.
TensorDesc ScatterTokens(Builder& b, const TensorDesc& whole) {
  std::vector<std::int64_t> shape = whole.shape;
  const TensorDesc by_ranks = b.Shaped(ByRanks(b, AsChunks(b, whole)), shape);
  shape[0] /= b.layout().cp;
  const TensorDesc part = b.out.New(whole.dtype, shape);
  b.out.Wait(b.ReduceScatter(kContextGroup, by_ranks, part));
  return HeadsBeforeTokens(b, part);
}

// A chunk of this rank's queries, and the keys that any of them sees.
struct ChunkOfQueries {
  std::int64_t first = 0, size = 0;            // among the rank's tokens
  std::int64_t keys_begin = 0, keys_size = 0;  // of the sequence

  [[nodiscard]] TensorDesc Queries(Builder& b, const TensorDesc& x) const {
    return TokensOf(b, x, 2, first, size);
  }
  [[nodiscard]] TensorDesc Keys(Builder& b, const TensorDesc& x) const {
    return TokensOf(b, x, 2, keys_begin, keys_size);
  }
};
ChunkOfQueries ChunkAt(const Builder& b, std::size_t i, const AttentionKind& kind) {
  const std::int64_t ranks = b.layout().cp;
  const std::int64_t size = b.model().sequence / (2 * ranks);
  const std::int64_t number = i == 0 ? b.place.cp : 2 * ranks - 1 - b.place.cp;
  const std::int64_t end = kind.causal ? (number + 1) * size : b.model().sequence;
  const std::int64_t begin =
      kind.window > 0 ? std::max<std::int64_t>(0, end - size - (kind.window - 1)) : 0;
  return {static_cast<std::int64_t>(i) * size, size, begin, end - begin};
}

// What a query sees without a mask.
std::int64_t KeysWithoutMask(const Builder& b, const AttentionKind& kind) {
  return kind.window > 0 ? std::min(kind.window, b.model().sequence) : b.model().sequence;
}

struct GatheredForward {
  TensorDesc q, k, v;  // this rank's; keys and values with tokens first
  TensorDesc out;
  std::array<TensorDesc, kChunksOfRank> lse;
};

std::vector<Grad> GatheredBackward(Builder& b, const TensorDesc& gradient,
                                   const GatheredForward& forward, const AttentionKind& kind) {
  const TensorDesc k = GatherTokens(b, forward.k);
  const TensorDesc v = GatherTokens(b, forward.v);
  std::vector<std::int64_t> shape = forward.k.shape;
  shape[0] *= b.layout().cp;
  const TensorDesc dq = DenseLike(b, forward.q);
  const TensorDesc dk = b.Zeros(k.dtype, shape);
  const TensorDesc dv = b.Zeros(v.dtype, shape);
  const TensorDesc dk_turned = HeadsBeforeTokens(b, dk);
  const TensorDesc dv_turned = HeadsBeforeTokens(b, dv);
  for (std::size_t i = 0; i < kChunksOfRank; ++i) {
    const ChunkOfQueries chunk = ChunkAt(b, i, kind);
    b.out.facts.keys = KeysWithoutMask(b, kind);
    const auto d = FusedAttentionBackward(
        b, chunk.Queries(b, gradient), chunk.Queries(b, forward.q), chunk.Keys(b, k),
        chunk.Keys(b, v), {chunk.Queries(b, forward.out), forward.lse[i]}, kind);
    b.out.facts.keys = 0;
    b.out.InPlace("aten::copy_", chunk.Queries(b, dq), d[0], false);
    b.out.InPlace("aten::add_", chunk.Keys(b, dk_turned), d[1], 1);
    b.out.InPlace("aten::add_", chunk.Keys(b, dv_turned), d[2], 1);
  }
  return {{dq, true}, {ScatterTokens(b, dk), true}, {ScatterTokens(b, dv), true}};
}

}  // namespace

Var GatheredAttention(Builder& b, const Var& q, const Var& k, const Var& v,
                      const AttentionKind& kind) {
  b.Op("AttnFuncWithCPAndKVAllGather");
  AttentionKind of_chunk = kind;
  of_chunk.by_last = kind.causal;
  GatheredForward forward{
      q.tensor, DenseTokensFirst(b, k.tensor), DenseTokensFirst(b, v.tensor), {}, {}};
  const TensorDesc keys = GatherTokens(b, forward.k);
  const TensorDesc values = GatherTokens(b, forward.v);
  forward.out = DenseLike(b, q.tensor);
  for (std::size_t i = 0; i < kChunksOfRank; ++i) {
    const ChunkOfQueries chunk = ChunkAt(b, i, kind);
    b.out.facts.keys = KeysWithoutMask(b, kind);
    const AttentionResult result = FusedAttentionForward(
        b, chunk.Queries(b, q.tensor), chunk.Keys(b, keys), chunk.Keys(b, values), of_chunk);
    b.out.facts.keys = 0;
    b.out.InPlace("aten::copy_", chunk.Queries(b, forward.out), result.out, false);
    forward.lse[i] = result.lse;
  }
  return b.Record("AttnFuncWithCPAndKVAllGatherBackward", {q, k, v}, forward.out,
                  [&b, forward, of_chunk](const TensorDesc& gradient) {
                    return GatheredBackward(b, gradient, forward, of_chunk);
                  });
}

}  // namespace reprise
