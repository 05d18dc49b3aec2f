#include "kernels/ops/images/conv_call.h"

#include <limits>
#include <utility>

#include "core/operator_arguments.h"
#include "kernels/views.h"

namespace reprise {
namespace {

// Two numbers; one stands for both dimensions, or for the only one.
std::optional<ConvCall::Pair> ConvPairOf(const OpCall& call, std::string_view key,
                                         bool one_dimension, std::int64_t absent) {
  const ArgumentPlaces& places = ArgumentPlaces::Of(call.name);
  if (places.At(key) < 0) {
    return ConvCall::Pair{absent, absent};
  }
  const auto values = places.Ints(call, key);
  if (values.size() == 1) {
    return ConvCall::Pair{one_dimension ? absent : values[0], values[0]};
  }
  return values.size() == 2 && !one_dimension ? std::optional(ConvCall::Pair{values[0], values[1]})
                                              : std::nullopt;
}

// Nothing if it has not one or two spatial dimensions.
std::optional<ConvTensor> AsConvTensor(const TensorDesc& t) {
  if (t.shape.size() != 3 && t.shape.size() != 4) {
    return std::nullopt;
  }
  const auto four = [](const Dims& v) {
    return std::array{v[0], v[1], v.size() == 3 ? 1 : v[2], v.back()};
  };
  return ConvTensor{&t, four(t.shape), four(t.strides)};
}

// False if there is such a tensor but of another shape or dtype, or too large for 31-bit offsets.
bool SetTensor(const TensorDesc* t, const std::array<std::int64_t, 4>& shape, DType dtype,
               ConvTensor& to) {
  if (t == nullptr) {
    return true;
  }
  const auto own = AsConvTensor(*t);
  if (!own || own->shape != shape || t->dtype != dtype ||
      ExtentElements(*t) > std::numeric_limits<std::int32_t>::max()) {
    return false;
  }
  to = *own;
  return true;
}

bool IsVector(const TensorDesc* t, std::int64_t size, DType dtype) {
  return t == nullptr || (t->shape == std::vector{size} && t->dtype == dtype);
}

bool SetSizes(const TensorDesc& input, const TensorDesc& weight, const TensorDesc& output,
              ConvCall& c) {
  const auto in = AsConvTensor(input);
  const auto kernel = AsConvTensor(weight);
  const auto out = AsConvTensor(output);
  if (!in || !kernel || !out || c.groups < 1 || kernel->shape[0] % c.groups != 0) {
    return false;
  }
  c.images = in->shape[0];
  c.in_channels = kernel->shape[1];
  c.out_channels = kernel->shape[0] / c.groups;
  for (std::size_t d = 0; d < 2; ++d) {
    c.in[d] = in->shape[d + 2];
    c.kernel[d] = kernel->shape[d + 2];
    c.out[d] = out->shape[d + 2];
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

std::optional<ConvCall> ParseConv(const OpCall& call) {
  const ArgumentPlaces& places = ArgumentPlaces::Of(call.name);
  if (!places.Has("input") || !places.Has("weight")) {
    return std::nullopt;
  }
  ConvCall c;
  const bool backward = places.Has("grad");
  const TensorDesc* input = places.Tensor(call, "input");
  const TensorDesc* weight = places.Tensor(call, "weight");
  const TensorDesc* output = backward ? places.Tensor(call, "grad") : call.OutputTensor(0);
  if (input == nullptr || weight == nullptr || output == nullptr) {
    return std::nullopt;
  }
  const bool always = places.Has("transposed") && places.At("transposed") < 0;
  c.transposed = always || places.Number(call, "transposed", 0) != 0;
  if (c.transposed) {
    std::swap(input, output);
  }
  if (weight->dtype != DType::kFloat32 && weight->dtype != DType::kBFloat16 &&
      weight->dtype != DType::kFloat16) {
    return std::nullopt;
  }
  const bool one_dimension = input->shape.size() == 3;
  const auto stride = ConvPairOf(call, "stride", one_dimension, 1);
  const auto padding = ConvPairOf(call, "padding", one_dimension, 0);
  const auto dilation = ConvPairOf(call, "dilation", one_dimension, 1);
  if (!stride || !padding || !dilation) {
    return std::nullopt;
  }
  c.stride = *stride;
  c.padding = *padding;
  c.dilation = *dilation;
  c.groups = static_cast<std::int64_t>(places.Number(call, "groups", 1));
  c.bias = places.Tensor(call, "bias");
  const bool fits =
      SetSizes(*input, *weight, *output, c) && SetTensors(call, input, weight, output, backward, c);
  return fits ? std::optional(c) : std::nullopt;
}

}  // namespace reprise
