// Normalisation: the result is as the input; statistics are per channel, row or group.
#include <algorithm>
#include <cstddef>

#include "converters/pytorch/results/result_layouts.h"
#include "converters/pytorch/results/result_rules.h"

namespace reprise::pytorch {
namespace {

bool IsNarrow(const TensorDesc& t) { return AccumulateType(t.dtype) != t.dtype; }

// Where a row begins: normalized_shape must be the last dimensions.
std::optional<std::size_t> RowAxis(const TensorDesc& x, const std::optional<Shape>& normalized) {
  if (!normalized || normalized->empty() || normalized->size() > x.shape.size() ||
      !std::equal(normalized->rbegin(), normalized->rend(), x.shape.rbegin())) {
    return std::nullopt;
  }
  return x.shape.size() - normalized->size();
}

Shape RowStatistics(const TensorDesc& x, std::size_t axis) {
  Shape shape = x.shape;
  std::fill(shape.begin() + static_cast<std::ptrdiff_t>(axis), shape.end(), 1);
  return shape;
}

// The gradient of an optional weight.
std::optional<TensorDesc> GradientOfWeight(const CallInputs& in, std::size_t at) {
  const TensorDesc* weight = in.Tensor(at);
  return weight != nullptr ? std::optional(Contiguous(*weight)) : std::nullopt;
}

}  // namespace

// (x, weight?, bias?, running_mean?, running_var?, training, momentum, eps)
// -> (y, save_mean, save_invstd [, reserve: of a size that cuDNN knows])
Results BatchNorm(const CallInputs& in) {
  const TensorDesc* x = in.Tensor(0);
  const TensorDesc* weight = in.Tensor(1);
  const auto training = in.Flag(5);
  if (x == nullptr || x->shape.size() < 2 || !training || in.size() != 8 ||
      (!IsContiguous(*x) && !LooksChannelsLast(*x))) {
    return std::nullopt;
  }
  const bool native = in.name == "aten::native_batch_norm";
  if (native ? IsNarrow(*x) && !in.on_gpu : weight == nullptr) {
    return std::nullopt;
  }
  const DType type = native ? AccumulateType(x->dtype) : weight->dtype;
  const TensorDesc statistics = Contiguous(*x, type, {*training ? x->shape[1] : 0});
  const TensorDesc y = Suggested(*x, x->dtype, x->shape);
  return in.name == "aten::cudnn_batch_norm" ? Several({y, statistics, statistics, std::nullopt})
                                             : Several({y, statistics, statistics});
}

// (grad, x, weight?, running_mean?, running_var?, save_mean?, save_invstd?, train, eps, mask[3])
Results NativeBatchNormBackward(const CallInputs& in) {
  const TensorDesc* grad = in.ContiguousTensor(0);
  const TensorDesc* x = in.ContiguousTensor(1);
  const TensorDesc* weight = in.Tensor(2);
  if (grad == nullptr || x == nullptr || x->shape.size() < 2 || in.size() != 10 ||
      (weight != nullptr ? weight->dtype != x->dtype : IsNarrow(*x))) {
    return std::nullopt;
  }
  const TensorDesc affine = Contiguous(*x, x->dtype, {x->shape[1]});
  return Masked(in.Integers(9), {Contiguous(*x), affine, affine});
}

// (x, grad, weight, running_mean?, running_var?, save_mean?, save_var?, eps [, reserve: cuDNN])
Results LibraryBatchNormBackward(const CallInputs& in) {
  const TensorDesc* x = in.ContiguousTensor(0);
  const TensorDesc* grad = in.ContiguousTensor(1);
  const TensorDesc* weight = in.Tensor(2);
  const std::size_t arity = in.name == "aten::cudnn_batch_norm_backward" ? 9 : 8;
  if (x == nullptr || grad == nullptr || weight == nullptr || in.size() != arity ||
      x->shape.size() < 2 || weight->shape != Shape{x->shape[1]}) {
    return std::nullopt;
  }
  const TensorDesc affine = Contiguous(*weight);
  return Several({Contiguous(*x), affine, affine});
}

// (x, normalized_shape, weight?, bias?, eps) -> (y, mean, rstd)
Results LayerNorm(const CallInputs& in) {
  const TensorDesc* x = in.Tensor(0);
  const auto axis = x == nullptr ? std::nullopt : RowAxis(*x, in.Integers(1));
  if (!axis || in.size() != 5 || (IsNarrow(*x) && !in.on_gpu)) {
    return std::nullopt;
  }
  const TensorDesc statistics = Contiguous(*x, AccumulateType(x->dtype), RowStatistics(*x, *axis));
  return Several({Contiguous(*x), statistics, statistics});
}

// (grad, x, normalized_shape, mean, rstd, weight?, bias?, mask[3])
Results LayerNormBackward(const CallInputs& in) {
  const TensorDesc* x = in.Tensor(1);
  const bool known = in.Tensor(0) != nullptr && x != nullptr && RowAxis(*x, in.Integers(2));
  return known && in.size() == 8 ? Masked(in.Integers(7), {Contiguous(*x), GradientOfWeight(in, 5),
                                                           GradientOfWeight(in, 6)})
                                 : std::nullopt;
}

// (x, weight?, bias?, N, C, HxW, groups, eps) -> (y, mean, rstd). What the statistics of narrow
// types are differs between versions.
Results GroupNorm(const CallInputs& in) {
  const TensorDesc* x = in.ContiguousTensor(0);
  const auto samples = in.Integer(3);
  const auto groups = in.Integer(6);
  if (x == nullptr || !samples || !groups || in.size() != 8 || IsNarrow(*x)) {
    return std::nullopt;
  }
  const TensorDesc statistics = Contiguous(*x, x->dtype, {*samples, *groups});
  return Several({Contiguous(*x), statistics, statistics});
}

// (grad, x, mean, rstd, weight?, N, C, HxW, groups, mask[3])
Results GroupNormBackward(const CallInputs& in) {
  const TensorDesc* x = in.ContiguousTensor(1);
  const auto channels = in.Integer(6);
  if (in.ContiguousTensor(0) == nullptr || x == nullptr || !channels || in.size() != 10 ||
      IsNarrow(*x)) {
    return std::nullopt;
  }
  const TensorDesc affine = Contiguous(*x, x->dtype, {*channels});
  return Masked(in.Integers(9), {Contiguous(*x), affine, affine});
}

// (x, normalized_shape, weight?, eps?) -> (y, rstd)
Results RmsNorm(const CallInputs& in) {
  const TensorDesc* x = in.Tensor(0);
  const TensorDesc* weight = in.Tensor(2);
  const auto axis = x == nullptr ? std::nullopt : RowAxis(*x, in.Integers(1));
  if (!axis || in.size() != 4 || (IsNarrow(*x) && !in.on_gpu) ||
      (weight != nullptr && weight->dtype != x->dtype)) {
    return std::nullopt;
  }
  return Several(
      {Contiguous(*x), Contiguous(*x, AccumulateType(x->dtype), RowStatistics(*x, *axis))});
}

// (grad, x, normalized_shape, rstd, weight?, mask[2])
Results RmsNormBackward(const CallInputs& in) {
  const TensorDesc* x = in.Tensor(1);
  const bool known = in.Tensor(0) != nullptr && x != nullptr && RowAxis(*x, in.Integers(2));
  return known && in.size() == 6 ? Masked(in.Integers(5), {Contiguous(*x), GradientOfWeight(in, 4)})
                                 : std::nullopt;
}

}  // namespace reprise::pytorch
