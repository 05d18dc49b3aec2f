// Norms: core/operator_table.h says what a row means.
#include "core/operator_table.h"

namespace reprise {

std::span<const OperatorGroup> operator_groups::Norms() {
  using enum ResultRule;
  static constexpr OperatorRow kBatchNormRows[] = {
      {.name = "aten::native_batch_norm",
       .arguments = "x=0 weight=1 bias=2 mean=3 variance=4 training=5",
       .result = kBatchNorm,
       .signature = "(TT?T?T?T?bff)3"},
      {.name = "aten::cudnn_batch_norm",
       .arguments = "x=0 weight=1 bias=2 mean=3 variance=4 training=5",
       .result = kBatchNorm,
       .signature = "cuda:(TTT?T?T?bff)4"},
      {.name = "aten::miopen_batch_norm",
       .arguments = "x=0 weight=1 bias=2 mean=3 variance=4 training=5",
       .result = kBatchNorm,
       .signature = "cuda:(TTT?T?T?bff)3"},
  };

  static constexpr OperatorRow kBatchNormBackwardRows[] = {
      {.name = "aten::native_batch_norm_backward",
       .arguments = "grad=0 x=1 weight=2 training=7",
       .result = kNativeBatchNormBackward,
       .signature = "(TTT?T?T?T?T?bfB)3"},
      {.name = "aten::cudnn_batch_norm_backward",
       .arguments = "x=0 grad=1 weight=2",
       .result = kLibraryBatchNormBackward,
       .signature = "cuda:(TTTT?T?T?T?fT)3"},
      {.name = "aten::miopen_batch_norm_backward",
       .arguments = "x=0 grad=1 weight=2",
       .result = kLibraryBatchNormBackward,
       .signature = "cuda:(TTTT?T?T?T?f)3"},
  };

  static constexpr OperatorRow kMoreNormRows[] = {
      {.name = "aten::native_layer_norm",
       .kernels = "layer_norm",
       .arguments = "x=0 weight=2 bias=3",
       .cost = CostRule::kLayerNorm,
       .result = kLayerNorm,
       .signature = "(TIT?T?f)3"},
      {.name = "aten::native_layer_norm_backward",
       .kernels = "layer_norm",
       .arguments = "grad=0 x=1 weight=5",
       .cost = CostRule::kLayerNormBackward,
       .result = kLayerNormBackward,
       .signature = "(TTITTT?T?B)3"},
      {.name = "aten::native_group_norm",
       .kernels = "group_norm",
       .arguments = "x=0 weight=1 bias=2",
       .cost = CostRule::kLayerNorm,
       .result = kGroupNorm,
       .signature = "(TT?T?iiiif)3"},
      {.name = "aten::native_group_norm_backward",
       .kernels = "group_norm",
       .arguments = "grad=0 x=1 weight=4",
       .cost = CostRule::kLayerNormBackward,
       .result = kGroupNormBackward,
       .signature = "(TTTTT?iiiiB)3"},
      {.name = "aten::_fused_rms_norm",
       .kernels = "layer_norm",
       .arguments = "x=0 weight=2",
       .cost = CostRule::kRmsNorm,
       .result = kRmsNorm,
       .signature = "(TIT?f?)2"},
      {.name = "aten::_fused_rms_norm_backward",
       .kernels = "layer_norm",
       .arguments = "grad=0 x=1 weight=4",
       .cost = CostRule::kRmsNormBackward,
       .result = kRmsNormBackward,
       .signature = "(TTITT?B)2"},
  };

  static constexpr OperatorGroup kGroups[] = {
      {.info = {OpClass::kNorm, OpKind::kWork},
       .kernels = "batch_norm",
       .cost = CostRule::kBatchNorm,
       .rows = kBatchNormRows},
      {.info = {OpClass::kNorm, OpKind::kWork},
       .kernels = "batch_norm",
       .cost = CostRule::kBatchNormBackward,
       .rows = kBatchNormBackwardRows},
      {.info = {OpClass::kNorm, OpKind::kWork}, .rows = kMoreNormRows},
  };
  return kGroups;
}

}  // namespace reprise
