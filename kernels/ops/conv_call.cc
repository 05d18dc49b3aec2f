#include "kernels/ops/conv_call.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "kernels/ops/views.h"

namespace reprise {
namespace {

// Where each operator has its arguments; -1: it has no such argument.
struct ConvLayout {
  std::string_view name;
  int input, weight, bias, stride, padding, dilation, transposed, groups;
};
constexpr int kBackwardGrad = 0;
constexpr int kAlways = -2;  // of `transposed`
constexpr std::array kConvLayouts = {
    // (self, weight, bias, padding, stride, dilation, groups)
    ConvLayout{"aten::mkldnn_convolution", 0, 1, 2, 4, 3, 5, -1, 6},
    // (self, weight, padding, stride, dilation, groups, benchmark, deterministic, allow_tf32)
    ConvLayout{"aten::cudnn_convolution", 0, 1, -1, 3, 2, 4, -1, 5},
    // (self, weight, bias, padding, stride, dilation, groups, benchmark, deterministic)
    ConvLayout{"aten::miopen_convolution", 0, 1, 2, 4, 3, 5, -1, 6},
    // (self, weight, kernel_size, bias, stride, padding)
    ConvLayout{"aten::_slow_conv2d_forward", 0, 1, 3, 4, 5, -1, -1, -1},
    ConvLayout{"aten::thnn_conv2d", 0, 1, 3, 4, 5, -1, -1, -1},
    // (input, weight, bias, stride, padding, dilation, transposed, output_padding, groups)
    ConvLayout{"aten::convolution_overrideable", 0, 1, 2, 3, 4, 5, 6, 8},
    ConvLayout{"aten::_convolution", 0, 1, 2, 3, 4, 5, 6, 8},
    // (self, weight, padding, output_padding, stride, dilation, groups, benchmark, …)
    ConvLayout{"aten::cudnn_convolution_transpose", 0, 1, -1, 4, 2, 5, kAlways, 6},
    // (self, weight, bias, padding, output_padding, stride, dilation, groups, …)
    ConvLayout{"aten::miopen_convolution_transpose", 0, 1, 2, 5, 3, 6, kAlways, 7},
    // (self, weight, kernel_size, bias, stride, padding, output_padding, dilation)
    ConvLayout{"aten::slow_conv_transpose2d", 0, 1, 3, 4, 5, 7, kAlways, -1},
    // (grad_output, input, weight, bias_sizes, stride, padding, dilation, transposed,
    //  output_padding, groups, output_mask)
    ConvLayout{"aten::convolution_backward", 1, 2, -1, 4, 5, 6, 7, 9},
};
constexpr auto kConvNames = [] {
  std::array<std::string_view, kConvLayouts.size()> names;
  for (std::size_t i = 0; i < names.size(); ++i) {
    names[i] = kConvLayouts[i].name;
  }
  return names;
}();

// Two numbers; one stands for both dimensions, or for the only one.
std::optional<ConvCall::Pair> ConvPairOf(const OpCall& call, int i, bool one_dimension,
                                         std::int64_t absent) {
  if (i < 0) {
    return ConvCall::Pair{absent, absent};
  }
  const auto values = call.InputInts(static_cast<std::size_t>(i));
  if (values.size() == 1) {
    return ConvCall::Pair{one_dimension ? absent : values[0], values[0]};
  }
  return values.size() == 2 && !one_dimension ? std::optional(ConvCall::Pair{values[0], values[1]})
                                              : std::nullopt;
}

// (n, c, x) as (n, c, 1, x).
std::optional<std::array<std::int64_t, 4>> FourDims(const std::vector<std::int64_t>& v) {
  if (v.size() == 3) {
    return std::array<std::int64_t, 4>{v[0], v[1], 1, v[2]};
  }
  return v.size() == 4 ? std::optional(std::array<std::int64_t, 4>{v[0], v[1], v[2], v[3]})
                       : std::nullopt;
}

// False if there is such a tensor but of another shape or dtype, or too large for 31-bit offsets.
bool SetTensor(const TensorDesc* t, const std::array<std::int64_t, 4>& shape, DType dtype,
               ConvTensor& to) {
  if (t == nullptr) {
    return true;
  }
  const auto own_shape = FourDims(t->shape);
  const auto strides = FourDims(t->strides);
  if (!own_shape || !strides || *own_shape != shape || t->dtype != dtype ||
      ExtentElements(*t) > std::numeric_limits<std::int32_t>::max()) {
    return false;
  }
  to = {t, *strides};
  return true;
}

bool IsVector(const TensorDesc* t, std::int64_t size, DType dtype) {
  return t == nullptr || (t->shape == std::vector{size} && t->dtype == dtype);
}

bool SetSizes(const TensorDesc& input, const TensorDesc& weight, const TensorDesc& output,
              ConvCall& c) {
  const auto in = FourDims(input.shape);
  const auto kernel = FourDims(weight.shape);
  const auto out = FourDims(output.shape);
  if (!in || !kernel || !out || c.groups < 1 || (*kernel)[0] % c.groups != 0) {
    return false;
  }
  c.images = (*in)[0];
  c.in_channels = (*kernel)[1];
  c.out_channels = (*kernel)[0] / c.groups;
  for (std::size_t d = 0; d < 2; ++d) {
    c.in[d] = (*in)[d + 2];
    c.kernel[d] = (*kernel)[d + 2];
    c.out[d] = (*out)[d + 2];
    const std::int64_t span = c.in[d] + 2 * c.padding[d] - c.dilation[d] * (c.kernel[d] - 1) - 1;
    if (c.stride[d] < 1 || c.dilation[d] < 1 || c.padding[d] < 0 || span < 0 ||
        c.out[d] != span / c.stride[d] + 1) {
      return false;
    }
  }
  return true;
}

// `near` and `far` are what the call has on the ordinary convolution's input and output side.
bool SetTensors(const OpCall& call, const TensorDesc* near, const TensorDesc* weight,
                const TensorDesc* far, bool backward, ConvCall& c) {
  const DType dtype = weight->dtype;
  const std::int64_t in_channels = c.in_channels * c.groups;
  const std::int64_t out_channels = c.out_channels * c.groups;
  const std::array in_shape = {c.images, in_channels, c.in[0], c.in[1]};
  const std::array out_shape = {c.images, out_channels, c.out[0], c.out[1]};
  const std::array weight_shape = {out_channels, c.in_channels, c.kernel[0], c.kernel[1]};
  const std::int64_t biases = c.transposed ? in_channels : out_channels;
  if (!SetTensor(weight, weight_shape, dtype, c.weight) || !IsVector(c.bias, biases, dtype)) {
    return false;
  }
  if (!backward) {
    return SetTensor(near, in_shape, dtype, c.transposed ? c.input_grad : c.input) &&
           SetTensor(far, out_shape, dtype, c.transposed ? c.output : c.result);
  }
  c.bias_grad = call.OutputTensor(2);
  return SetTensor(near, in_shape, dtype, c.input) && SetTensor(far, out_shape, dtype, c.output) &&
         (c.transposed ? SetTensor(call.OutputTensor(0), out_shape, dtype, c.result)
                       : SetTensor(call.OutputTensor(0), in_shape, dtype, c.input_grad)) &&
         SetTensor(call.OutputTensor(1), weight_shape, dtype, c.weight_grad) &&
         IsVector(c.bias_grad, biases, dtype);
}

}  // namespace

std::span<const std::string_view> ConvOperators() { return kConvNames; }

std::optional<ConvCall> ParseConv(const OpCall& call) {
  const auto layout = std::find_if(kConvLayouts.begin(), kConvLayouts.end(),
                                   [&](const ConvLayout& l) { return l.name == call.name; });
  if (layout == kConvLayouts.end()) {
    return std::nullopt;
  }
  ConvCall c;
  const bool backward = call.name == "aten::convolution_backward";
  const TensorDesc* input = TensorOrNull(call, layout->input);
  const TensorDesc* weight = TensorOrNull(call, layout->weight);
  const TensorDesc* output = backward ? TensorOrNull(call, kBackwardGrad) : call.OutputTensor(0);
  const auto flag = [&](int i, std::int64_t absent) {
    const auto at = static_cast<std::size_t>(i);
    return i >= 0 && at < call.inputs.size() ? call.inputs[at].AsNumber<std::int64_t>(absent)
                                             : absent;
  };
  if (input == nullptr || weight == nullptr || output == nullptr) {
    return std::nullopt;
  }
  c.transposed = layout->transposed == kAlways || flag(layout->transposed, 0) != 0;
  if (c.transposed) {
    std::swap(input, output);
  }
  if (weight->dtype != DType::kFloat32 && weight->dtype != DType::kBFloat16 &&
      weight->dtype != DType::kFloat16) {
    return std::nullopt;
  }
  const bool one_dimension = input->shape.size() == 3;
  const auto stride = ConvPairOf(call, layout->stride, one_dimension, 1);
  const auto padding = ConvPairOf(call, layout->padding, one_dimension, 0);
  const auto dilation = ConvPairOf(call, layout->dilation, one_dimension, 1);
  if (!stride || !padding || !dilation) {
    return std::nullopt;
  }
  c.stride = *stride;
  c.padding = *padding;
  c.dilation = *dilation;
  c.groups = flag(layout->groups, 1);
  c.bias = TensorOrNull(call, layout->bias);
  const bool fits =
      SetSizes(*input, *weight, *output, c) && SetTensors(call, input, weight, output, backward, c);
  return fits ? std::optional(c) : std::nullopt;
}

}  // namespace reprise
