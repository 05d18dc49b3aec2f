// Attention: PyTorch's fused operators, and scores, softmax and product one by one.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "predict/workload/ops/model_operators.h"

namespace reprise {

TensorDesc DenseLike(Builder& b, const TensorDesc& t) {
  std::vector<std::size_t> order(t.shape.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&t](std::size_t i, std::size_t j) { return t.strides[i] > t.strides[j]; });
  TensorDesc out = b.out.New(t.dtype, t.shape);
  std::int64_t stride = 1;
  for (std::size_t i = order.size(); i-- > 0;) {
    out.strides[order[i]] = stride;
    stride *= t.shape[order[i]];
  }
  return out;
}

namespace {

// PyTorch's operators for one kind of attention: their names, and autograd's.
struct FusedOperator {
  const char* forward;
  const char* backward;
  const char* entry;
};
constexpr FusedOperator kFlash = {"aten::_scaled_dot_product_flash_attention",
                                  "aten::_scaled_dot_product_flash_attention_backward",
                                  "ScaledDotProductFlashAttentionBackward0"};
constexpr FusedOperator kHost = {"aten::_scaled_dot_product_flash_attention_for_cpu",
                                 "aten::_scaled_dot_product_flash_attention_for_cpu_backward",
                                 "ScaledDotProductFlashAttentionForCpuBackward0"};
// Values may have another size than keys.
constexpr FusedOperator kCudnn = {"aten::_scaled_dot_product_cudnn_attention",
                                  "aten::_scaled_dot_product_cudnn_attention_backward",
                                  "ScaledDotProductCudnnAttentionBackward0"};
// Has a window, aligns the last query and key, and takes sequences in a row. Its tensors have
// tokens before heads.
constexpr FusedOperator kWindowed = {"aten::_flash_attention_forward",
                                     "aten::_flash_attention_backward", "FlashAttentionBackward0"};

const FusedOperator& OperatorOf(const Builder& b, const TensorDesc& k, const TensorDesc& v,
                                const AttentionKind& kind) {
  return kind.window > 0 || kind.by_last || kind.packed ? kWindowed
         : !b.out.cuda()                                ? kHost
         : k.shape.back() == v.shape.back()             ? kFlash
                                                        : kCudnn;
}

TensorDesc HeadsAndTokensSwapped(Builder& b, const TensorDesc& t) {
  return b.out.Host(
      "aten::transpose", Args(t, 1, 2),
      b.out.Alias(t, {t.shape[0], t.shape[2], t.shape[1], t.shape[3]},
                  {t.strides[0], t.strides[2], t.strides[1], t.strides[3]}, t.offset));
}

// Tokens before and behind a query's own that it sees; nothing: all.
Value LeftOf(const AttentionKind& kind) {
  return kind.window > 0 ? ToValue(kind.window - 1) : ToValue(kNoValue);
}
Value RightOf(const AttentionKind& kind) {
  return kind.window > 0 ? ToValue(0) : ToValue(kNoValue);
}

// What sequences in a row take in place of a batch: (tokens, heads, features), and where each of
// them starts, which a capture has as a tensor.
TensorDesc InRow(Builder& b, const TensorDesc& t) {
  return b.out.Host("aten::squeeze", Args(t, 0),
                    b.out.Alias(t, {t.shape[2], t.shape[1], t.shape[3]},
                                {t.strides[2], t.strides[1], t.strides[3]}, t.offset));
}
Ints StartsOfDocuments(const Workload& w) {
  Ints starts = {0};
  for (const std::int64_t tokens : w.documents) {
    starts.push_back(starts.back() + tokens);
  }
  return starts;
}
AttentionResult PackedForward(Builder& b, const TensorDesc& q, const TensorDesc& k,
                              const TensorDesc& v, const AttentionKind& kind) {
  const Ints starts = StartsOfDocuments(b.workload);
  const std::int64_t longest = *std::ranges::max_element(b.workload.documents);
  AttentionResult result{DenseLike(b, q), b.out.New(DType::kFloat32, {q.shape[1], q.shape[2]})};
  const TensorDesc out = InRow(b, result.out);
  b.out.Work(kWindowed.forward,
             Args(InRow(b, q), InRow(b, k), InRow(b, v), starts, starts, longest, longest,
                  b.model().dropout, kind.causal, false, kNoValue, LeftOf(kind), RightOf(kind),
                  kNoValue, kNoValue),
             Args(out, result.lse, kNoValue, kNoValue, kNoValue));
  return result;
}
std::vector<TensorDesc> PackedBackward(Builder& b, const TensorDesc& gradient, const TensorDesc& q,
                                       const TensorDesc& k, const TensorDesc& v,
                                       const AttentionResult& forward, const AttentionKind& kind) {
  const Ints starts = StartsOfDocuments(b.workload);
  const std::int64_t longest = *std::ranges::max_element(b.workload.documents);
  std::vector<TensorDesc> out = {DenseLike(b, q), DenseLike(b, k), DenseLike(b, v)};
  b.out.Work(kWindowed.backward,
             Args(InRow(b, gradient), InRow(b, q), InRow(b, k), InRow(b, v), InRow(b, forward.out),
                  forward.lse, starts, starts, longest, longest, b.model().dropout, kind.causal,
                  kNoValue, kNoValue, kNoValue, LeftOf(kind), RightOf(kind)),
             Args(InRow(b, out[0]), InRow(b, out[1]), InRow(b, out[2])));
  return out;
}

// The output: as the queries, with the values' features.
TensorDesc NewOutput(Builder& b, const TensorDesc& q, const TensorDesc& v) {
  TensorDesc like = q;
  like.shape.back() = v.shape.back();
  return DenseLike(b, like);
}

}  // namespace

AttentionResult FusedAttentionForward(Builder& b, const TensorDesc& q, const TensorDesc& k,
                                      const TensorDesc& v, const AttentionKind& kind) {
  if (kind.packed) {
    return PackedForward(b, q, k, v, kind);
  }
  AttentionResult result{NewOutput(b, q, v),
                         b.out.New(DType::kFloat32, {q.shape[0], q.shape[1], q.shape[2]})};
  const double p = b.model().dropout;
  const FusedOperator& op = OperatorOf(b, k, v, kind);
  if (&op == &kWindowed) {
    const auto turned = [&b](const TensorDesc& t) { return HeadsAndTokensSwapped(b, t); };
    const TensorDesc out = turned(result.out);
    b.out.Work(op.forward,
               Args(turned(q), turned(k), turned(v), kNoValue, kNoValue, q.shape[2], k.shape[2], p,
                    kind.causal, false, kNoValue, LeftOf(kind), RightOf(kind), kNoValue, kNoValue),
               Args(out, result.lse, kNoValue, kNoValue, kNoValue));
  } else if (&op == &kFlash) {
    b.out.Work(op.forward, Args(q, k, v, p, kind.causal, false, kNoValue),
               Args(result.out, result.lse, kNoValue, kNoValue, q.shape[2], k.shape[2], kNoValue,
                    kNoValue, kNoValue));
  } else if (&op == &kCudnn) {
    b.out.Work(op.forward, Args(q, k, v, kNoValue, true, p, kind.causal, false, kNoValue),
               Args(result.out, result.lse, kNoValue, kNoValue, q.shape[2], k.shape[2], kNoValue,
                    kNoValue, kNoValue));
  } else {
    b.out.Work(op.forward, Args(q, k, v, p, kind.causal, kNoValue, kNoValue),
               Args(result.out, result.lse));
  }
  return result;
}

std::vector<TensorDesc> FusedAttentionBackward(Builder& b, const TensorDesc& gradient,
                                               const TensorDesc& q, const TensorDesc& k,
                                               const TensorDesc& v, const AttentionResult& forward,
                                               const AttentionKind& kind) {
  if (kind.packed) {
    return PackedBackward(b, gradient, q, k, v, forward, kind);
  }
  std::vector<TensorDesc> out = {DenseLike(b, q), DenseLike(b, k), DenseLike(b, v)};
  const ValueList results = Args(out[0], out[1], out[2]);
  const double p = b.model().dropout;
  const FusedOperator& op = OperatorOf(b, k, v, kind);
  if (&op == &kWindowed) {
    const auto turned = [&b](const TensorDesc& t) { return HeadsAndTokensSwapped(b, t); };
    b.out.Work(op.backward,
               Args(turned(gradient), turned(q), turned(k), turned(v), turned(forward.out),
                    forward.lse, kNoValue, kNoValue, q.shape[2], k.shape[2], p, kind.causal,
                    kNoValue, kNoValue, kNoValue, LeftOf(kind), RightOf(kind)),
               Args(turned(out[0]), turned(out[1]), turned(out[2])));
  } else if (&op == &kFlash) {
    b.out.Work(op.backward,
               Args(gradient, q, k, v, forward.out, forward.lse, kNoValue, kNoValue, q.shape[2],
                    k.shape[2], p, kind.causal, kNoValue, kNoValue, kNoValue),
               results);
  } else if (&op == &kCudnn) {
    b.out.Work(op.backward,
               Args(gradient, q, k, v, forward.out, forward.lse, kNoValue, kNoValue, kNoValue,
                    kNoValue, kNoValue, q.shape[2], k.shape[2], p, kind.causal, kNoValue),
               results);
  } else {
    b.out.Work(
        op.backward,
        Args(gradient, q, k, v, forward.out, forward.lse, p, kind.causal, kNoValue, kNoValue),
        results);
  }
  return out;
}

namespace {

// A score for no key at all takes its share of the softmax: the output is multiplied by
// sigmoid(lse - sink) (TorchTitan, torchtitan/models/gpt_oss). The gradient of the logsumexp stays
// in attention's own.
Var WithSinks(Builder& b, const Var& out, const TensorDesc& lse, Parameter& sinks) {
  const std::int64_t heads = out.shape()[1];
  const Var column = View(b, Var{.tensor = sinks.value, .parameter = &sinks}, {1, heads, 1});
  b.Op();
  const TensorDesc difference =
      b.out.Work("aten::sub", Args(lse, column.tensor, 1), b.NewLike(lse));
  const Var above =
      b.Record("SubBackward0", {column}, difference, [&b, heads](const TensorDesc& gradient) {
        const TensorDesc sum = b.out.New(gradient.dtype, {1, heads, 1});
        b.out.Work("aten::sum", Args(gradient, Ints{0, 2}, true, kNoValue), Args(sum));
        return Fresh(b.out.Work("aten::neg", Args(sum), b.NewLike(sum)));
      });
  std::vector<std::int64_t> shape = lse.shape;
  shape.push_back(1);
  const Var share = View(b, ToType(b, Sigmoid(b, above), out.tensor.dtype), shape);
  return Multiply(b, out, share);
}

}  // namespace

Var FusedAttention(Builder& b, const Var& q, const Var& k, const Var& v,
                   const AttentionKind& kind) {
  b.Op("aten::scaled_dot_product_attention");
  const AttentionResult forward = FusedAttentionForward(b, q.tensor, k.tensor, v.tensor, kind);
  const TensorDesc qt = q.tensor;
  const TensorDesc kt = k.tensor;
  const TensorDesc vt = v.tensor;
  const Var out =
      b.Record(OperatorOf(b, kt, vt, kind).entry, {q, k, v}, forward.out,
               [&b, qt, kt, vt, forward, kind](const TensorDesc& gradient) {
                 const auto grads = FusedAttentionBackward(b, gradient, qt, kt, vt, forward, kind);
                 return std::vector<Grad>{{grads[0], true}, {grads[1], true}, {grads[2], true}};
               });
  return kind.sinks == nullptr ? out : WithSinks(b, out, forward.lse, *kind.sinks);
}

Var UnfusedAttention(Builder& b, const Var& q, const Var& k, const Var& v,
                     const AttentionKind& kind) {
  const std::int64_t batch = q.shape()[0];
  const std::int64_t heads = q.shape()[1];
  const std::int64_t queries = q.shape()[2];
  const std::int64_t keys = k.shape()[2];
  const std::int64_t size = q.shape()[3];
  // Query heads that share keys and values are rows of one product.
  const std::int64_t kv_heads = k.shape()[1];
  const std::int64_t rows = heads / kv_heads * queries;
  // (batch · kv heads, rows, features): views while memory allows, else copies.
  const auto matrices = [&](const Var& x, std::int64_t m) {
    return View(b, Contiguous(b, x), {batch * kv_heads, m, x.shape()[3]});
  };
  const Var qm = matrices(q, rows);
  const Var km = matrices(k, keys);
  const Var vm = matrices(v, keys);
  std::optional<TensorDesc> distances;
  if (b.model().alibi) {
    distances = b.Constant("alibi", b.dtype(), {batch * kv_heads, 1, keys});
  }
  const Var scores =
      BatchedProduct(b, qm, Transpose(b, km, 1, 2), 1 / std::sqrt(static_cast<double>(size)),
                     distances ? &*distances : nullptr);
  Var weights = View(b, scores, {batch, heads, queries, keys});
  if (kind.causal) {  // and outside of the window
    weights = MaskedFill(b, weights, b.Constant("mask", DType::kBool, {queries, keys}));
  }
  weights = Dropout(b, Softmax(b, weights), b.model().dropout);
  const Var result = BatchedProduct(b, View(b, weights, {batch * kv_heads, rows, keys}), vm);
  return View(b, result, {batch, heads, queries, v.shape()[3]});
}

}  // namespace reprise
