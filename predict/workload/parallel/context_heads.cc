// Parts of the sequence for parts of the heads, and back, by all-to-alls among context-parallel
// ranks, as Transformer Engine's flash_attn_a2a_communicate; DeepSpeed-Ulysses calls it
// _SeqAllToAll (deepspeed/sequence/layer.py).
#include "predict/workload/parallel/context.h"

namespace reprise {
namespace {

// Numbers of chunks: where each of the sequence's is among those of the ranks, or the reverse.
TensorDesc PickChunks(Builder& b, const TensorDesc& chunks, const char* numbers) {
  const TensorDesc& order = b.Constant(numbers, DType::kInt64, {chunks.shape[0]});
  return b.out.Work("aten::index_select", Args(chunks, 0, order),
                    b.out.New(chunks.dtype, chunks.shape));
}

// Another look at the same memory.
TensorDesc Looked(Builder& b, const TensorDesc& of, const std::vector<std::int64_t>& shape,
                  const std::vector<std::int64_t>& strides) {
  return b.out.Host("aten::as_strided", Args(of, shape, strides, of.offset),
                    b.out.Alias(of, shape, strides, of.offset));
}

struct UnderWay {
  TensorDesc result;
  Issued issued;
};
UnderWay StartAllToAll(Builder& b, const TensorDesc& packed) {
  UnderWay out{.result = b.NewLike(packed)};
  out.issued = b.AllToAll(kContextGroup, packed, out.result, {}, {}, true);
  return out;
}

// (batch, heads, tokens of a rank, features) to (batch, heads / cp, tokens, features).
std::vector<TensorDesc> DivideHeads(Builder& b, const std::vector<TensorDesc>& tensors) {
  const std::int64_t ranks = b.layout().cp;
  std::vector<UnderWay> under_way;
  for (const TensorDesc& t : tensors) {  // the next is copied while the one before travels
    const std::int64_t heads = t.shape[1] / ranks;
    const TensorDesc by_rank =
        Looked(b, t, {ranks, t.shape[2], t.shape[0], heads, t.shape[3]},
               {heads * t.strides[1], t.strides[2], t.strides[0], t.strides[1], t.strides[3]});
    const TensorDesc packed = b.out.New(t.dtype, by_rank.shape);
    b.out.InPlace("aten::copy_", packed, by_rank, false);
    under_way.push_back(StartAllToAll(b, packed));
  }
  std::vector<TensorDesc> divided;
  for (const UnderWay& one : under_way) {
    b.out.Wait(one.issued);
    const std::vector<std::int64_t>& shape = one.result.shape;  // ranks, tokens, batch, heads, …
    const TensorDesc ordered =
        InOrder(b, b.Shaped(one.result, {2 * ranks, shape[1] / 2, shape[2], shape[3], shape[4]}));
    const std::int64_t token = shape[2] * shape[3] * shape[4];
    divided.push_back(Looked(b, ordered, {shape[2], shape[3], ranks * shape[1], shape[4]},
                             {shape[3] * shape[4], shape[4], token, 1}));
  }
  return divided;
}

// The reverse.
std::vector<TensorDesc> JoinHeads(Builder& b, const std::vector<TensorDesc>& tensors) {
  const std::int64_t ranks = b.layout().cp;
  std::vector<UnderWay> under_way;
  for (const TensorDesc& t : tensors) {
    const std::int64_t chunk = t.shape[2] / (2 * ranks);
    const TensorDesc chunks =
        Looked(b, t, {2 * ranks, chunk, t.shape[0], t.shape[1], t.shape[3]},
               {chunk * t.strides[2], t.strides[2], t.strides[0], t.strides[1], t.strides[3]});
    const TensorDesc by_ranks = ByRanks(b, chunks);
    under_way.push_back(StartAllToAll(
        b, b.Shaped(by_ranks, {ranks, 2 * chunk, t.shape[0], t.shape[1], t.shape[3]})));
  }
  std::vector<TensorDesc> joined;
  for (const UnderWay& one : under_way) {
    b.out.Wait(one.issued);
    const std::vector<std::int64_t>& shape = one.result.shape;
    const std::vector<std::int64_t>& strides = one.result.strides;
    const TensorDesc turned = Looked(b, one.result, {shape[1], shape[2], ranks, shape[3], shape[4]},
                                     {strides[1], strides[2], strides[0], strides[3], strides[4]});
    const TensorDesc merged = b.out.New(one.result.dtype, turned.shape);
    b.out.InPlace("aten::copy_", merged, turned, false);
    const std::int64_t heads = ranks * shape[3];
    const std::int64_t token = shape[2] * heads * shape[4];
    joined.push_back(Looked(b, merged, {shape[2], heads, shape[1], shape[4]},
                            {heads * shape[4], shape[4], token, 1}));
  }
  return joined;
}

constexpr const char* kExchange = "_SeqAllToAll";
constexpr const char* kExchangeBackward = "_SeqAllToAllBackward";

}  // namespace

TensorDesc InOrder(Builder& b, const TensorDesc& of_ranks) {
  return PickChunks(b, of_ranks, "chunks in order");
}
TensorDesc ByRanks(Builder& b, const TensorDesc& in_order) {
  return PickChunks(b, in_order, "chunks by ranks");
}

std::vector<Var> TokensToHeads(Builder& b, const std::vector<Var>& tokens) {
  b.Op(kExchange);
  std::vector<TensorDesc> tensors;
  tensors.reserve(tokens.size());
  for (const Var& var : tokens) {
    tensors.push_back(var.tensor);
  }
  return b.tape->Record(kExchangeBackward, tokens, DivideHeads(b, tensors),
                        [&b](std::vector<Grad>& results) {
                          std::vector<TensorDesc> gradients;
                          gradients.reserve(results.size());
                          for (const Grad& result : results) {  // attention's: none is missing
                            gradients.push_back(*result.tensor);
                          }
                          std::vector<Grad> joined;
                          for (const TensorDesc& gradient : JoinHeads(b, gradients)) {
                            joined.push_back({gradient, true});
                          }
                          return joined;
                        });
}

Var HeadsToTokens(Builder& b, const Var& heads) {
  b.Op(kExchange);
  return b.Record(
      kExchangeBackward, {heads}, JoinHeads(b, {heads.tensor})[0],
      [&b](const TensorDesc& gradient) { return Fresh(DivideHeads(b, {gradient})[0]); });
}

}  // namespace reprise
