// Convolutions: core/operator_table.h says what a row means.
#include "core/operator_table.h"

namespace reprise {

std::span<const OperatorGroup> operator_groups::Convolutions() {
  using enum ResultRule;
  static constexpr OperatorRow kConvolutionRows[] = {
      {.name = "aten::mkldnn_convolution",
       .arguments = "input=0 weight=1 bias=2 stride=4 padding=3 dilation=5 groups=6",
       .result = kBiasedConvolution,
       .signature = "cpu:(TTT?IIIi)1"},
      {.name = "aten::convolution_backward",
       .arguments = "grad=0 input=1 weight=2 stride=4 padding=5 dilation=6 transposed=7 groups=9",
       .result = kConvolutionBackward,
       .signature = "(TTTI?IIIbIiB)3"},
      {.name = "aten::cudnn_convolution",
       .arguments = "input=0 weight=1 stride=3 padding=2 dilation=4 groups=5",
       .result = kCudnnConvolution,
       .signature = "cuda:(TTIIIibbb)1"},
      {.name = "aten::miopen_convolution",
       .arguments = "input=0 weight=1 bias=2 stride=4 padding=3 dilation=5 groups=6",
       .result = kBiasedConvolution,
       .signature = "cuda:(TTT?IIIibb)1"},
      {.name = "aten::_slow_conv2d_forward",
       .arguments = "input=0 weight=1 bias=3 stride=4 padding=5",
       .signature = "cpu:(TTIT?II)1"},
      {.name = "aten::_slow_conv2d_backward",
       .arguments = "grad=0 input=1 weight=2 stride=4 padding=5",
       .signature = "cpu:.output_mask(TTTIIIB)3"},
      {.name = "aten::thnn_conv2d",
       .arguments = "input=0 weight=1 bias=3 stride=4 padding=5",
       .signature = "(TTIT?II)1"},
      {.name = "aten::convolution_overrideable",
       .arguments = "input=0 weight=1 bias=2 stride=3 padding=4 dilation=5 transposed=6 groups=8",
       .result = kGenericConvolution},
      {.name = "aten::cudnn_convolution_transpose",
       .arguments = "input=0 weight=1 stride=4 padding=2 dilation=5 transposed groups=6",
       .signature = "cuda:(TTIIIIibbb)1"},
      {.name = "aten::miopen_convolution_transpose",
       .arguments = "input=0 weight=1 bias=2 stride=5 padding=3 dilation=6 transposed groups=7",
       .signature = "cuda:(TTT?IIIIibb)1"},
      {.name = "aten::slow_conv_transpose2d",
       .arguments = "input=0 weight=1 bias=3 stride=4 padding=5 dilation=7 transposed",
       .signature = "(TTIT?IIII)1"},
  };

  static constexpr OperatorRow kWithoutKernelRows[] = {
      {.name = "aten::slow_conv2d_forward",
       .arguments = "input=0 weight=1 bias=3 stride=4 padding=5"},
      {.name = "aten::convolution_backward_overrideable",
       .arguments = "grad=0 input=1 weight=2 stride=3 padding=4 dilation=5 transposed=6 groups=8"},
      {.name = "aten::_conv_depthwise2d",
       .arguments = "input=0 weight=1 bias=3 stride=4 padding=5 dilation=6",
       .signature = "(TTIT?III)1"},
      {.name = "aten::_nnpack_spatial_convolution",
       .arguments = "input=0 weight=1 bias=2 stride=4 padding=3"},
  };

  static constexpr OperatorGroup kGroups[] = {
      {.info = {OpClass::kConv, OpKind::kWork},
       .kernels = "convolution",
       .cost = CostRule::kConvolution,
       .rows = kConvolutionRows},
      {.info = {OpClass::kConv, OpKind::kWork},
       .cost = CostRule::kConvolution,
       .rows = kWithoutKernelRows},
  };
  return kGroups;
}

}  // namespace reprise
