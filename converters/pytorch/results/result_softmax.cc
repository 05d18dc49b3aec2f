// Softmax and losses.
#include <cstddef>

#include "converters/pytorch/results/result_layouts.h"
#include "converters/pytorch/results/result_rules.h"

namespace reprise::pytorch {
namespace {

constexpr std::int64_t kNoReduction = 0;  // at::Reduction

}  // namespace

// (x, dim, half_to_float)
Results Softmax(const CallInputs& in) {
  const TensorDesc* x = in.Tensor(0);
  const auto widen = in.Flag(2);
  return x != nullptr && in.Integer(1) && widen
             ? One(in, 3, Contiguous(*x, *widen ? DType::kFloat32 : x->dtype, x->shape))
             : std::nullopt;
}

// (grad, y, dim, input_dtype); before 1.11 the input itself, whose type it is.
Results SoftmaxBackward(const CallInputs& in) {
  const TensorDesc* grad = in.Tensor(0);
  const TensorDesc* x = in.Tensor(3);
  const auto number = in.Integer(3);
  if (grad == nullptr || in.Tensor(1) == nullptr || (x == nullptr && !number)) {
    return std::nullopt;
  }
  const DType dtype = x != nullptr ? x->dtype : FromScalarType(*number);
  return dtype != DType::kUnknown ? One(in, 4, Contiguous(*grad, dtype, grad->shape))
                                  : std::nullopt;
}

// (x, target, weight?, reduction, ignore_index) -> (loss, total_weight)
Results NllLoss(const CallInputs& in) {
  const TensorDesc* x = in.Tensor(0);
  const TensorDesc* target = in.Tensor(1);
  const auto reduction = in.Integer(3);
  if (x == nullptr || target == nullptr || !reduction || in.size() != 5) {
    return std::nullopt;
  }
  const bool each = *reduction == kNoReduction && x->shape.size() > 1;
  return Several(
      {Contiguous(*x, x->dtype, each ? target->shape : Shape{}), Contiguous(*x, x->dtype, {})});
}

// (grad, x, target, weight?, reduction, ignore_index, total_weight)
Results NllLossBackward(const CallInputs& in) {
  const TensorDesc* x = in.Tensor(1);
  return x != nullptr && in.Tensor(0) != nullptr ? One(in, 7, Contiguous(*x)) : std::nullopt;
}

Results PointwiseLoss(const CallInputs& in) {
  const TensorDesc* x = in.Tensor(0);
  const TensorDesc* target = in.Tensor(1);
  const auto reduction = in.Integer(2);
  if (!Alike(x, target) || !reduction) {
    return std::nullopt;
  }
  const TensorDesc* both[] = {x, target};
  return One(in, 3,
             *reduction == kNoReduction ? Iterated(both, x->dtype, x->shape)
                                        : Contiguous(*x, x->dtype, {}));
}

Results PointwiseLossBackward(const CallInputs& in) {
  const TensorDesc* x = in.ContiguousTensor(1);
  const bool known = in.Tensor(0) != nullptr && Alike(x, in.ContiguousTensor(2)) && in.Integer(3);
  return known ? One(in, 4, Contiguous(*x)) : std::nullopt;
}

}  // namespace reprise::pytorch
