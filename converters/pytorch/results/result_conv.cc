// Convolutions. Their layout is the library's choice: claimed where all agree.
#include <algorithm>
#include <cstddef>

#include "converters/pytorch/results/result_layouts.h"
#include "converters/pytorch/results/result_rules.h"

namespace reprise::pytorch {
namespace {

struct Geometry {
  Shape padding, stride, dilation, output_padding;
  std::int64_t groups = 1;
  bool transposed = false;
};

std::optional<Shape> OutputShape(const TensorDesc& x, const TensorDesc& w, const Geometry& g) {
  const std::size_t dims = g.stride.size();
  const std::size_t in_features = g.transposed ? 0 : 1;  // where the weight has them
  const std::int64_t per_group = g.transposed ? 1 : g.groups;
  if (g.groups < 1 || x.shape[1] != w.shape[in_features] * per_group) {
    return std::nullopt;
  }
  Shape shape = {x.shape[0], g.transposed ? w.shape[1] * g.groups : w.shape[0]};
  for (std::size_t d = 0; d < dims; ++d) {
    const std::int64_t reach = g.dilation[d] * (w.shape[d + 2] - 1) + 1;
    const std::int64_t size = x.shape[d + 2];
    if (g.stride[d] < 1) {
      return std::nullopt;
    }
    shape.push_back(g.transposed
                        ? (size - 1) * g.stride[d] - 2 * g.padding[d] + reach + g.output_padding[d]
                        : (size + 2 * g.padding[d] - reach) / g.stride[d] + 1);
    if (shape.back() < 1) {
      return std::nullopt;
    }
  }
  return shape;
}

// Whether libraries take channels-last; nothing if they differ. cuDNN and oneDNN take it if either
// operand looks so; MIOpen and PyTorch's own kernels don't, or not always.
std::optional<bool> TakesChannelsLast(const CallInputs& in, const TensorDesc& a,
                                      const TensorDesc& b) {
  const bool looks = LooksChannelsLast(a) || LooksChannelsLast(b);
  if (!looks) {
    const bool wide = a.shape.size() == 5 && !(IsContiguous(a) && IsContiguous(b));
    return wide ? std::nullopt : std::optional(false);
  }
  const bool known = in.name == "aten::cudnn_convolution" || in.name == "aten::mkldnn_convolution";
  return known && a.dtype != DType::kFloat64 ? std::optional(true) : std::nullopt;
}

Results Forward(const CallInputs& in, std::size_t arity, const Geometry& g) {
  const TensorDesc& x = *in.Tensor(0);
  const TensorDesc& w = *in.Tensor(1);
  const auto shape = OutputShape(x, w, g);
  const auto channels_last = TakesChannelsLast(in, x, w);
  if (!shape || !channels_last) {
    return std::nullopt;
  }
  return One(in, arity,
             *channels_last ? ChannelsLast(x, x.dtype, *shape) : Contiguous(x, x.dtype, *shape));
}

// A batched input and its weight, of 1 to 3 dimensions.
std::optional<std::size_t> Dimensions(const TensorDesc* x, const TensorDesc* w) {
  if (x == nullptr || w == nullptr || x->dtype != w->dtype || x->shape.size() < 3 ||
      x->shape.size() > 5 || w->shape.size() != x->shape.size()) {
    return std::nullopt;
  }
  return x->shape.size() - 2;
}

// padding, stride, dilation, groups from argument `first` on.
Results LibraryConvolution(const CallInputs& in, std::size_t first, std::size_t arity) {
  const auto dims = Dimensions(in.Tensor(0), in.Tensor(1));
  const auto groups = in.Integer(first + 3);
  if (!dims || !groups) {
    return std::nullopt;
  }
  const auto padding = in.Integers(first, *dims);
  const auto stride = in.Integers(first + 1, *dims);
  const auto dilation = in.Integers(first + 2, *dims);
  if (!padding || !stride || !dilation) {
    return std::nullopt;
  }
  return Forward(
      in, arity,
      {.padding = *padding, .stride = *stride, .dilation = *dilation, .groups = *groups});
}

// stride, padding, dilation, transposed, output_padding, groups from argument `first` on.
std::optional<Geometry> GenericGeometry(const CallInputs& in, std::size_t first, std::size_t dims) {
  const auto stride = in.Integers(first, dims);
  const auto padding = in.Integers(first + 1, dims);
  const auto dilation = in.Integers(first + 2, dims);
  const auto transposed = in.Flag(first + 3);
  const auto output_padding = in.Integers(first + 4, dims);
  const auto groups = in.Integer(first + 5);
  if (!stride || !padding || !dilation || !transposed || !output_padding || !groups) {
    return std::nullopt;
  }
  return Geometry{*padding, *stride, *dilation, *output_padding, *groups, *transposed};
}

}  // namespace

// (x, w, padding, stride, dilation, groups, benchmark, deterministic, allow_tf32)
Results CudnnConvolution(const CallInputs& in) { return LibraryConvolution(in, 2, 9); }

// (x, w, bias?, padding, stride, dilation, groups [, benchmark, deterministic: MIOpen])
Results BiasedConvolution(const CallInputs& in) {
  return LibraryConvolution(in, 3, in.name == "aten::miopen_convolution" ? 9 : 7);
}

// (x, w, bias?, stride, padding, dilation, transposed, output_padding, groups)
Results GenericConvolution(const CallInputs& in) {
  const auto dims = Dimensions(in.Tensor(0), in.Tensor(1));
  const auto geometry = dims ? GenericGeometry(in, 3, *dims) : std::nullopt;
  return geometry ? Forward(in, 9, *geometry) : std::nullopt;
}

// (grad, x, w, bias_sizes?, stride, padding, dilation, transposed, output_padding, groups, mask[3])
Results ConvolutionBackward(const CallInputs& in) {
  // For other layouts, each library lays out gradients in its own way.
  const TensorDesc* grad = in.ContiguousTensor(0);
  const TensorDesc* x = in.ContiguousTensor(1);
  const TensorDesc* w = in.ContiguousTensor(2);
  const auto dims = Dimensions(x, w);
  const auto geometry = dims ? GenericGeometry(in, 4, *dims) : std::nullopt;
  if (grad == nullptr || !geometry || in.size() != 11 || grad->dtype != x->dtype ||
      grad->shape != OutputShape(*x, *w, *geometry)) {
    return std::nullopt;
  }
  return Masked(in.Integers(10), {Contiguous(*x), Contiguous(*x, x->dtype, w->shape),
                                  Contiguous(*x, x->dtype, {grad->shape[1]})});
}

}  // namespace reprise::pytorch
