// Pooling and resizing of planes: (N, C, H, W), or one sample without N.
#include <cstddef>

#include "converters/pytorch/results/result_layouts.h"
#include "converters/pytorch/results/result_rules.h"

namespace reprise::pytorch {
namespace {

struct Window {
  Shape kernel, stride, padding, dilation;
  bool round_up = false;
};

const TensorDesc* Planes(const CallInputs& in, std::size_t i) {
  const TensorDesc* x = in.Tensor(i);
  return x != nullptr && (x->shape.size() == 3 || x->shape.size() == 4) ? x : nullptr;
}

// Kernel, stride (empty: the kernel) and padding from argument 1 on.
std::optional<Window> ReadWindow(const CallInputs& in) {
  const auto kernel = in.Integers(1, 2);
  const auto no_stride = in.Integers(2);
  const auto stride = no_stride && no_stride->empty() ? kernel : in.Integers(2, 2);
  const auto padding = in.Integers(3, 2);
  return kernel && stride && padding ? std::optional(Window{*kernel, *stride, *padding, {1, 1}})
                                     : std::nullopt;
}

// at::native::pooling_output_shape.
std::int64_t PooledSize(std::int64_t size, const Window& w, std::size_t d) {
  const std::int64_t room = size + 2 * w.padding[d] - w.dilation[d] * (w.kernel[d] - 1) - 1;
  if (room < 0 || w.stride[d] < 1) {
    return 0;
  }
  std::int64_t out = (room + (w.round_up ? w.stride[d] - 1 : 0)) / w.stride[d] + 1;
  if (w.round_up && (out - 1) * w.stride[d] >= size + w.padding[d]) {
    --out;  // the last window must begin inside
  }
  return out;
}

Shape WithPlane(const TensorDesc& x, std::int64_t height, std::int64_t width) {
  Shape shape(x.shape.begin(), x.shape.end() - 2);
  shape.push_back(height);
  shape.push_back(width);
  return shape;
}

std::optional<Shape> PooledShape(const TensorDesc& x, const Window& window) {
  const std::size_t rank = x.shape.size();
  const std::int64_t height = PooledSize(x.shape[rank - 2], window, 0);
  const std::int64_t width = PooledSize(x.shape[rank - 1], window, 1);
  return height < 1 || width < 1 ? std::nullopt : std::optional(WithPlane(x, height, width));
}

}  // namespace

// (x, kernel, stride, padding, dilation, ceil_mode) -> (values, indices)
Results MaxPool2d(const CallInputs& in) {
  const TensorDesc* x = Planes(in, 0);
  auto window = ReadWindow(in);
  const auto dilation = in.Integers(4, 2);
  const auto round_up = in.Flag(5);
  if (x == nullptr || !window || !dilation || !round_up || in.size() != 6) {
    return std::nullopt;
  }
  window->dilation = *dilation;
  window->round_up = *round_up;
  const auto shape = PooledShape(*x, *window);
  return shape ? Several({Suggested(*x, x->dtype, *shape), Suggested(*x, DType::kInt64, *shape)})
               : std::nullopt;
}

// (x, kernel, stride, padding, ceil_mode, count_include_pad, divisor_override?)
Results AveragePool2d(const CallInputs& in) {
  const TensorDesc* x = Planes(in, 0);
  auto window = ReadWindow(in);
  const auto round_up = in.Flag(4);
  if (x == nullptr || !window || !round_up) {
    return std::nullopt;
  }
  window->round_up = *round_up;
  const auto shape = PooledShape(*x, *window);
  return shape ? One(in, 7, Suggested(*x, x->dtype, *shape)) : std::nullopt;
}

// (x, output_size)
Results AdaptivePool2d(const CallInputs& in) {
  const TensorDesc* x = Planes(in, 0);
  const auto size = in.Integers(1);
  return x != nullptr && size && size->size() == 2
             ? One(in, 2, Suggested(*x, x->dtype, WithPlane(*x, (*size)[0], (*size)[1])))
             : std::nullopt;
}

// (grad, x, …): as x. Layouts differ between devices unless both are contiguous.
Results PoolBackward(const CallInputs& in) {
  const TensorDesc* grad = Planes(in, 0);
  const TensorDesc* x = Planes(in, 1);
  const bool known = grad != nullptr && x != nullptr && grad->dtype == x->dtype;
  return known && IsContiguous(*grad) && IsContiguous(*x) ? Several({Contiguous(*x)})
                                                          : std::nullopt;
}

// nearest: (x, output_size, scale_h?, scale_w?); bilinear: align_corners after output_size.
Results Upsample(const CallInputs& in) {
  const TensorDesc* x = in.Tensor(0);
  const auto size = in.Integers(1);
  const bool bilinear = in.name == "aten::upsample_bilinear2d";
  if (x == nullptr || x->shape.size() != 4 || !size || size->size() != 2 ||
      (bilinear && !in.Flag(2))) {
    return std::nullopt;
  }
  return One(in, bilinear ? 5 : 4, Suggested(*x, x->dtype, WithPlane(*x, (*size)[0], (*size)[1])));
}

}  // namespace reprise::pytorch
