#include "kernels/ops/attention_call.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/lowering.h"

namespace reprise {
namespace {

// Where each operator has its arguments; -1: it has no such argument.
struct Layout {
  std::string_view name;
  bool backward;
  int q, k, v, mask, dropout, causal, scale;
  int out_grad, out, lse;  // inputs of the backward; `out` and `lse` of the forward are outputs
};
constexpr std::array kLayouts = {
    // (query, key, value, dropout_p, is_causal, attn_mask, scale)
    Layout{"aten::_scaled_dot_product_flash_attention_for_cpu", false, 0, 1, 2, 5, 3, 4, 6, -1, 0,
           1},
    // (grad_out, query, key, value, out, logsumexp, dropout_p, is_causal, attn_mask, scale)
    Layout{"aten::_scaled_dot_product_flash_attention_for_cpu_backward", true, 1, 2, 3, 8, 6, 7, 9,
           0, 4, 5},
    // (query, key, value, dropout_p, is_causal, return_debug_mask, scale)
    Layout{"aten::_scaled_dot_product_flash_attention", false, 0, 1, 2, -1, 3, 4, 6, -1, 0, 1},
    // (grad_out, query, key, value, out, logsumexp, cum_seq_q, cum_seq_k, max_q, max_k, dropout_p,
    //  is_causal, philox_seed, philox_offset, scale)
    Layout{"aten::_scaled_dot_product_flash_attention_backward", true, 1, 2, 3, -1, 10, 11, 14, 0,
           4, 5},
    // (query, key, value, attn_bias, compute_log_sumexp, dropout_p, is_causal, scale)
    Layout{"aten::_scaled_dot_product_efficient_attention", false, 0, 1, 2, 3, 5, 6, 7, -1, 0, 1},
    // (grad_out, query, key, value, attn_bias, out, logsumexp, philox_seed, philox_offset,
    //  dropout_p, grad_input_mask, is_causal, scale)
    Layout{"aten::_scaled_dot_product_efficient_attention_backward", true, 1, 2, 3, 4, 9, 11, 12, 0,
           5, 6},
};
constexpr auto kNames = [] {
  std::array<std::string_view, kLayouts.size()> names;
  for (std::size_t i = 0; i < names.size(); ++i) {
    names[i] = kLayouts[i].name;
  }
  return names;
}();

double Number(const OpCall& call, int i, double fallback) {
  const auto at = static_cast<std::size_t>(i);
  return i >= 0 && at < call.inputs.size() ? call.inputs[at].AsNumber<double>(fallback) : fallback;
}

const TensorDesc* Input(const OpCall& call, int i) {
  return i < 0 ? nullptr : call.InputTensor(static_cast<std::size_t>(i));
}

bool HasShape(const TensorDesc* t, const std::vector<std::int64_t>& shape) {
  return t != nullptr && t->shape == shape;
}

bool SetSizes(AttentionCall& a) {
  for (const TensorDesc* t : {a.q, a.k, a.v}) {
    if (t == nullptr || t->shape.size() != 4) {
      return false;
    }
  }
  a.batch = a.q->shape[0];
  a.heads = a.q->shape[1];
  a.queries = a.q->shape[2];
  a.features = a.q->shape[3];
  a.keys = a.k->shape[2];
  a.value_features = a.v->shape[3];
  return a.k->shape == std::vector{a.batch, a.heads, a.keys, a.features} &&
         a.v->shape == std::vector{a.batch, a.heads, a.keys, a.value_features} &&
         HasShape(a.out, {a.batch, a.heads, a.queries, a.value_features});
}

bool MaskFits(const AttentionCall& a) {
  const std::vector<std::int64_t> shape = {a.batch, a.heads, a.queries, a.keys};
  const bool type = a.mask->dtype == DType::kBool || a.mask->dtype == DType::kFloat32 ||
                    a.mask->dtype == a.q->dtype;
  const TensorDesc* operands[] = {a.mask};
  return type && a.mask->shape.size() <= 4 && MakeIndexSpace(shape, operands).has_value();
}

// The memory-efficient kernels pad the rows of logsumexp, and leave it empty where nobody asks.
bool LseFits(const AttentionCall& a) {
  return a.lse->dtype == DType::kFloat32 && a.lse->shape.size() == 3 &&
         a.lse->shape[0] == a.batch && a.lse->shape[1] == a.heads && a.lse->shape[2] >= a.queries;
}

}  // namespace

std::span<const std::string_view> AttentionOperators() { return kNames; }

std::optional<AttentionCall> ParseAttention(const OpCall& call) {
  const auto layout = std::find_if(kLayouts.begin(), kLayouts.end(),
                                   [&](const Layout& l) { return l.name == call.name; });
  if (layout == kLayouts.end()) {
    return std::nullopt;
  }
  AttentionCall a;
  a.backward = layout->backward;
  a.q = Input(call, layout->q);
  a.k = Input(call, layout->k);
  a.v = Input(call, layout->v);
  a.mask = Input(call, layout->mask);
  a.causal = Number(call, layout->causal, 0) != 0;
  if (a.backward) {
    a.out_grad = Input(call, layout->out_grad);
    a.out = Input(call, layout->out);
    a.lse = Input(call, layout->lse);
    a.q_grad = call.OutputTensor(0);
    a.k_grad = call.OutputTensor(1);
    a.v_grad = call.OutputTensor(2);
  } else {
    a.out = call.OutputTensor(0);
    a.lse = call.OutputTensor(1);
    a.lse = a.lse != nullptr && ElementCount(a.lse->shape) == 0 ? nullptr : a.lse;
  }
  if (!SetSizes(a) || Number(call, layout->dropout, 0) != 0 ||
      (a.mask != nullptr && !MaskFits(a)) || (a.lse != nullptr && !LseFits(a))) {
    return std::nullopt;
  }
  const DType dtype = a.q->dtype;
  if (dtype != DType::kFloat32 && dtype != DType::kBFloat16 && dtype != DType::kFloat16) {
    return std::nullopt;
  }
  if (a.backward && (a.lse == nullptr || call.OutputTensor(3) != nullptr ||
                     !HasShape(a.out_grad, a.out->shape) || !HasShape(a.q_grad, a.q->shape) ||
                     !HasShape(a.k_grad, a.k->shape) || !HasShape(a.v_grad, a.v->shape))) {
    return std::nullopt;
  }
  for (const TensorDesc* t : {a.k, a.v, a.out, a.out_grad, a.q_grad, a.k_grad, a.v_grad}) {
    if (t != nullptr && t->dtype != dtype) {
      return std::nullopt;
    }
  }
  a.scale = Number(call, layout->scale, 1 / std::sqrt(static_cast<double>(a.features)));
  return a;
}

double AttentionPairs(const AttentionCall& a) {
  double pairs = static_cast<double>(a.queries) * static_cast<double>(a.keys);
  if (a.causal) {  // query i sees the first i + 1 keys
    const auto short_rows = static_cast<double>(std::min(a.queries, a.keys));
    pairs =
        short_rows * (short_rows + 1) / 2 +
        static_cast<double>(a.queries - std::min(a.queries, a.keys)) * static_cast<double>(a.keys);
  }
  return pairs * static_cast<double>(a.batch * a.heads);
}

}  // namespace reprise
