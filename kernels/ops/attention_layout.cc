#include "kernels/ops/attention_layout.h"

namespace reprise {
namespace {

using Layout = AttentionLayout;

constexpr std::array kAttentionLayouts = {
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
    // (query, key, value, attn_bias, compute_log_sumexp, dropout_p, is_causal, return_debug_mask,
    //  scale)
    Layout{"aten::_scaled_dot_product_cudnn_attention", false, 0, 1, 2, 3, 5, 6, 8, -1, 0, 1},
    // (grad_out, query, key, value, out, logsumexp, philox_seed, philox_offset, attn_bias,
    //  cum_seq_q, cum_seq_k, max_q, max_k, dropout_p, is_causal, scale)
    Layout{"aten::_scaled_dot_product_cudnn_attention_backward", true, 1, 2, 3, 8, 13, 14, 15, 0, 4,
           5},
    // (query, key, value, attn_bias, dropout_p, is_causal, return_debug_mask, scale)
    Layout{"aten::_scaled_dot_product_fused_attention_overrideable", false, 0, 1, 2, 3, 4, 5, 7, -1,
           0, 1},
    // (grad_out, query, key, value, attn_bias, grad_input_mask, out, logsumexp, cum_seq_q,
    //  cum_seq_k, max_q, max_k, dropout_p, is_causal, philox_seed, philox_offset, scale)
    Layout{"aten::_scaled_dot_product_fused_attention_overrideable_backward", true, 1, 2, 3, 4, 12,
           13, 16, 0, 6, 7},
    // (query, key, value, cum_seq_q, cum_seq_k, max_q, max_k, dropout_p, is_causal,
    //  return_debug_mask, scale, window_size_left, window_size_right, seqused_k, alibi_slopes)
    Layout{"aten::_flash_attention_forward",
           false,
           0,
           1,
           2,
           -1,
           7,
           8,
           10,
           -1,
           0,
           1,
           true,
           {3, 11, 12, 13, 14}},
    // (grad_out, query, key, value, out, logsumexp, cum_seq_q, cum_seq_k, max_q, max_k, dropout_p,
    //  is_causal, rng_state, unused, scale, window_size_left, window_size_right)
    Layout{"aten::_flash_attention_backward",
           true,
           1,
           2,
           3,
           -1,
           10,
           11,
           14,
           0,
           4,
           5,
           true,
           {6, 15, 16, -1, -1}},
    // (query, key, value, bias, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, dropout_p,
    //  custom_mask_type, compute_log_sumexp, scale, seqlen_k, window_size)
    Layout{"aten::_efficient_attention_forward",
           false,
           0,
           1,
           2,
           3,
           8,
           9,
           11,
           -1,
           0,
           1,
           true,
           {4, 12, 13, -1, -1}},
    // (grad_out, query, key, value, bias, out, cu_seqlens_q, cu_seqlens_k, max_seqlen_q,
    //  max_seqlen_k, logsumexp, dropout_p, philox_seed, philox_offset, custom_mask_type,
    //  bias_requires_grad, scale, num_splits_key, window_size)
    Layout{"aten::_efficient_attention_backward",
           true,
           1,
           2,
           3,
           4,
           11,
           14,
           16,
           0,
           5,
           10,
           true,
           {6, 18, -1, -1, -1}},
};

constexpr auto kAttentionNames = [] {
  std::array<std::string_view, kAttentionLayouts.size()> names;
  for (std::size_t i = 0; i < names.size(); ++i) {
    names[i] = kAttentionLayouts[i].name;
  }
  return names;
}();

}  // namespace

std::span<const AttentionLayout> AttentionLayouts() { return kAttentionLayouts; }
std::span<const std::string_view> AttentionOperators() { return kAttentionNames; }

}  // namespace reprise
