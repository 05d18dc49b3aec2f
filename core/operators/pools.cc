// Pooling and resampling: core/operator_table.h says what a row means.
#include "core/operator_table.h"

namespace reprise {

std::span<const OperatorGroup> operator_groups::Pools() {
  using enum ResultRule;
  static constexpr OperatorRow kPoolRows[] = {
      {.name = "aten::max_pool2d_with_indices",
       .arguments = "max kernel=1 stride=2 padding=3 dilation=4",
       .result = kMaxPool2d,
       .signature = "(TIIIIb)2"},
      {.name = "aten::max_pool2d_with_indices_backward",
       .arguments = "max grad=0 kernel=2 stride=3 padding=4 dilation=5 index=7",
       .result = kPoolBackward,
       .signature = "(TTIIIIbT)1"},
      {.name = "aten::avg_pool2d",
       .arguments = "average kernel=1 stride=2 padding=3 count_padding=5 divisor=6",
       .result = kAveragePool2d,
       .signature = "(TIIIbbi?)1"},
      {.name = "aten::avg_pool2d_backward",
       .arguments = "average grad=0 kernel=2 stride=3 padding=4 count_padding=6 divisor=7",
       .result = kPoolBackward,
       .signature = "(TTIIIbbi?)1"},
      {.name = "aten::_adaptive_avg_pool2d",
       .arguments = "average adaptive",
       .result = kAdaptivePool2d,
       .signature = "(TI)1"},
      {.name = "aten::_adaptive_avg_pool2d_backward",
       .arguments = "average grad=0 adaptive",
       .result = kPoolBackward,
       .signature = "(TT)1"},
      {.name = "aten::adaptive_max_pool2d", .arguments = "max adaptive", .signature = "(TI)2"},
      {.name = "aten::adaptive_max_pool2d_backward",
       .arguments = "max grad=0 index=2 adaptive",
       .signature = "(TTT)1"},
  };

  static constexpr OperatorRow kUpsampleRows[] = {
      {.name = "aten::upsample_nearest1d", .signature = "(TIf?)1"},
      {.name = "aten::upsample_nearest1d_backward", .signature = "(TIIf?)1"},
      {.name = "aten::upsample_nearest2d", .result = kUpsample, .signature = "(TIf?f?)1"},
      {.name = "aten::upsample_bilinear2d", .result = kUpsample, .signature = "(TIbf?f?)1"},
      {.name = "aten::upsample_nearest2d_backward", .signature = "(TIIf?f?)1"},
      {.name = "aten::upsample_bilinear2d_backward", .signature = "(TIIbf?f?)1"},
      {.name = "aten::upsample_linear1d", .signature = "(TIbf?)1"},
      {.name = "aten::upsample_linear1d_backward", .signature = "(TIIbf?)1"},
      {.name = "aten::upsample_bicubic2d", .signature = "(TIbf?f?)1"},
      {.name = "aten::upsample_bicubic2d_backward", .signature = "(TIIbf?f?)1"},
      {.name = "aten::_upsample_nearest_exact1d", .signature = "(TIf?)1"},
      {.name = "aten::_upsample_nearest_exact1d_backward", .signature = "(TIIf?)1"},
      {.name = "aten::_upsample_nearest_exact2d", .signature = "(TIf?f?)1"},
      {.name = "aten::_upsample_nearest_exact2d_backward", .signature = "(TIIf?f?)1"},
  };

  static constexpr OperatorRow kMorePoolRows[] = {
      {.name = "aten::mkldnn_max_pool2d",
       .arguments = "max kernel=1 stride=2 padding=3 dilation=4",
       .cost = CostRule::kPool},
      {.name = "aten::grid_sampler_2d",
       .kernels = "grid_sample",
       .arguments = "image=0 grid=1 mode=2",
       .cost = CostRule::kGridSample,
       .signature = "(TTiib)1"},
      {.name = "aten::grid_sampler_2d_backward",
       .kernels = "grid_sample",
       .arguments = "grad=0 image=1 grid=2 mode=3",
       .cost = CostRule::kGridSample,
       .signature = "(TTTiibB)2"},
  };

  static constexpr OperatorGroup kGroups[] = {
      {.info = {OpClass::kPool, OpKind::kWork},
       .kernels = "pool",
       .cost = CostRule::kPool,
       .rows = kPoolRows},
      {.info = {OpClass::kPool, OpKind::kWork},
       .kernels = "upsample",
       .cost = CostRule::kUpsample,
       .rows = kUpsampleRows},
      {.info = {OpClass::kPool, OpKind::kWork}, .rows = kMorePoolRows},
  };
  return kGroups;
}

}  // namespace reprise
