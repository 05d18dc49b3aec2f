// Attention: core/operator_table.h says what a row means.
#include "core/operator_table.h"

namespace reprise {

std::span<const OperatorGroup> operator_groups::Attention() {
  using enum ResultRule;
  static constexpr OperatorRow kAttentionRows[] = {
      {.name = "aten::_scaled_dot_product_flash_attention_for_cpu",
       .arguments = "q=0 k=1 v=2 mask=5 dropout=3 causal=4 scale=6",
       .result = kCpuAttention,
       .signature = "cpu:(TTTfbT?f?)2"},
      {.name = "aten::_scaled_dot_product_flash_attention_for_cpu_backward",
       .arguments = "q=1 k=2 v=3 mask=8 dropout=6 causal=7 scale=9 out_grad=0 out=4 lse=5",
       .result = kCpuAttentionBackward,
       .signature = "cpu:(TTTTTTfbT?f?)3"},
      {.name = "aten::_scaled_dot_product_flash_attention",
       .arguments = "q=0 k=1 v=2 dropout=3 causal=4 scale=6",
       .result = kFlashAttention,
       .signature = "cuda:(TTTfbbf?)TTTTiiTTT"},
      {.name = "aten::_scaled_dot_product_flash_attention_backward",
       .arguments = "q=1 k=2 v=3 dropout=10 causal=11 scale=14 out_grad=0 out=4 lse=5",
       .result = kFlashAttentionBackward,
       .signature = "cuda:(TTTTTTNNiifbTTf?)3"},
      {.name = "aten::_scaled_dot_product_efficient_attention",
       .arguments = "q=0 k=1 v=2 mask=3 dropout=5 causal=6 scale=7",
       .result = kEfficientAttention,
       .signature = "cuda:(TTTT?bfbf?)4"},
      {.name = "aten::_scaled_dot_product_efficient_attention_backward",
       .arguments = "q=1 k=2 v=3 mask=4 dropout=9 causal=11 scale=12 out_grad=0 out=5 lse=6",
       .result = kEfficientAttentionBackward,
       .signature = "cuda:(TTTTNTTTTfBbf?)4"},
      {.name = "aten::_scaled_dot_product_cudnn_attention",
       .arguments = "q=0 k=1 v=2 mask=3 dropout=5 causal=6 scale=8",
       .signature = "cuda:(TTTT?bfbbf?)TTTTiiTTT"},
      {.name = "aten::_scaled_dot_product_cudnn_attention_backward",
       .arguments = "q=1 k=2 v=3 mask=8 dropout=13 causal=14 scale=15 out_grad=0 out=4 lse=5",
       .signature = "cuda:(TTTTTTTTNNNiifbf?)3"},
      {.name = "aten::_scaled_dot_product_fused_attention_overrideable",
       .arguments = "q=0 k=1 v=2 mask=3 dropout=4 causal=5 scale=7"},
      {.name = "aten::_scaled_dot_product_fused_attention_overrideable_backward",
       .arguments = "q=1 k=2 v=3 mask=4 dropout=12 causal=13 scale=16 out_grad=0 out=6 lse=7"},
      {.name = "aten::_flash_attention_forward",
       .arguments = "q=0 k=1 v=2 dropout=7 causal=8 scale=10 left=11 right=12 tokens_first "
                    "causal_by_last absent=3 absent=13 absent=14",
       .signature = "cuda:(TTTT?T?iifbbf?i?i?T?T?)5 cuda:(TTTT?T?iifbbf?i?i?T?T?T?i?)5"},
      {.name = "aten::_flash_attention_backward",
       .arguments = "q=1 k=2 v=3 dropout=10 causal=11 scale=14 out_grad=0 out=4 lse=5 left=15 "
                    "right=16 tokens_first causal_by_last absent=6",
       .signature = "cuda:(TTTTTTNNiifbTTf?i?i?)3"},
      {.name = "aten::_efficient_attention_forward",
       .arguments = "q=0 k=1 v=2 mask=3 dropout=8 causal=9 scale=11 tokens_first absent=4 "
                    "absent=12 absent=13",
       .signature = "cuda:(TTTT?T?T?i?i?fibf?T?i?)TTTTii"},
      {.name = "aten::_efficient_attention_backward",
       .arguments = "q=1 k=2 v=3 mask=4 dropout=11 causal=14 scale=16 out_grad=0 out=5 lse=10 "
                    "tokens_first absent=6 absent=18",
       .signature = "cuda:(TTTTT?TT?T?iiTfTTibf?i?i?b)4"},
  };

  static constexpr OperatorGroup kGroups[] = {
      {.info = {OpClass::kAttention, OpKind::kWork},
       .kernels = "attention",
       .cost = CostRule::kAttention,
       .rows = kAttentionRows},
  };
  return kGroups;
}

}  // namespace reprise
