// Attention: PyTorch's fused operators, and scores, softmax and product one by one.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "predict/workload/ops/model_operators.h"

namespace reprise {
namespace {

// Dense, with dimensions in the order that t has in memory: what empty_like makes.
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

constexpr const char* kDeviceForward = "aten::_scaled_dot_product_flash_attention";
constexpr const char* kHostForward = "aten::_scaled_dot_product_flash_attention_for_cpu";

}  // namespace

AttentionResult FusedAttentionForward(Builder& b, const TensorDesc& q, const TensorDesc& k,
                                      const TensorDesc& v, bool causal) {
  AttentionResult result{DenseLike(b, q),
                         b.out.New(DType::kFloat32, {q.shape[0], q.shape[1], q.shape[2]})};
  const double p = b.model().dropout;
  if (b.out.cuda()) {
    b.out.Work(kDeviceForward, Args(q, k, v, p, causal, false, kNoValue),
               Args(result.out, result.lse, kNoValue, kNoValue, q.shape[2], k.shape[2], kNoValue,
                    kNoValue, kNoValue));
  } else {
    b.out.Work(kHostForward, Args(q, k, v, p, causal, kNoValue, kNoValue),
               Args(result.out, result.lse));
  }
  return result;
}

std::vector<TensorDesc> FusedAttentionBackward(Builder& b, const TensorDesc& gradient,
                                               const TensorDesc& q, const TensorDesc& k,
                                               const TensorDesc& v, const AttentionResult& forward,
                                               bool causal) {
  std::vector<TensorDesc> out = {DenseLike(b, q), DenseLike(b, k), DenseLike(b, v)};
  const ValueList results = Args(out[0], out[1], out[2]);
  const double p = b.model().dropout;
  if (b.out.cuda()) {
    b.out.Work("aten::_scaled_dot_product_flash_attention_backward",
               Args(gradient, q, k, v, forward.out, forward.lse, kNoValue, kNoValue, q.shape[2],
                    k.shape[2], p, causal, kNoValue, kNoValue, kNoValue),
               results);
  } else {
    b.out.Work("aten::_scaled_dot_product_flash_attention_for_cpu_backward",
               Args(gradient, q, k, v, forward.out, forward.lse, p, causal, kNoValue, kNoValue),
               results);
  }
  return out;
}

Var FusedAttention(Builder& b, const Var& q, const Var& k, const Var& v, bool causal) {
  b.Op("aten::scaled_dot_product_attention");
  const AttentionResult forward = FusedAttentionForward(b, q.tensor, k.tensor, v.tensor, causal);
  const TensorDesc qt = q.tensor;
  const TensorDesc kt = k.tensor;
  const TensorDesc vt = v.tensor;
  return b.Record(
      b.out.cuda() ? "ScaledDotProductFlashAttentionBackward0"
                   : "ScaledDotProductFlashAttentionForCpuBackward0",
      {q, k, v}, forward.out, [&b, qt, kt, vt, forward, causal](const TensorDesc& gradient) {
        const auto grads = FusedAttentionBackward(b, gradient, qt, kt, vt, forward, causal);
        return std::vector<Grad>{{grads[0], true}, {grads[1], true}, {grads[2], true}};
      });
}

Var UnfusedAttention(Builder& b, const Var& q, const Var& k, const Var& v, bool causal) {
  const std::int64_t batch = q.shape()[0];
  const std::int64_t heads = q.shape()[1];
  const std::int64_t queries = q.shape()[2];
  const std::int64_t keys = k.shape()[2];
  const std::int64_t size = q.shape()[3];
  // Query heads that share keys and values are rows of one product.
  const std::int64_t kv_heads = k.shape()[1];
  const std::int64_t rows = heads / kv_heads * queries;
  // (batch · kv heads, rows, size): views while memory allows, else copies.
  const auto matrices = [&](const Var& x, std::int64_t n, std::int64_t m) {
    return View(b, Contiguous(b, x), {n, m, size});
  };
  const Var qm = matrices(q, batch * kv_heads, rows);
  const Var km = matrices(k, batch * kv_heads, keys);
  const Var vm = matrices(v, batch * kv_heads, keys);
  const Var scores =
      BatchedProduct(b, qm, Transpose(b, km, 1, 2), 1 / std::sqrt(static_cast<double>(size)));
  Var weights = View(b, scores, {batch, heads, queries, keys});
  if (causal) {
    weights = MaskedFill(b, weights, b.Constant("mask", DType::kBool, {queries, keys}));
  }
  weights = Dropout(b, Softmax(b, weights), b.model().dropout);
  const Var result = BatchedProduct(b, View(b, weights, {batch * kv_heads, rows, keys}), vm);
  return View(b, result, {batch, heads, queries, size});
}

}  // namespace reprise
