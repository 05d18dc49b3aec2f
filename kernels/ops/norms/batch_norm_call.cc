#include "kernels/ops/norms/batch_norm_call.h"

#include <vector>

namespace reprise {
namespace {

std::optional<BatchNormExtents> ExtentsOf(const TensorDesc& x) {
  if (x.shape.size() < 2 || Count(x) == 0) {
    return std::nullopt;
  }
  return BatchNormExtents{x.shape[0], x.shape[1], Count(x) / x.shape[0] / x.shape[1]};
}

bool ArePerChannel(const std::vector<const TensorDesc*>& tensors, std::int64_t channels) {
  for (const TensorDesc* tensor : tensors) {
    if (tensor != nullptr && Count(*tensor) != channels) {
      return false;
    }
  }
  return true;
}

}  // namespace

// aten::native_batch_norm(input, weight?, bias?, running_mean?, running_var?, training, momentum,
// eps) -> (y, save_mean, save_invstd); the libraries' have the same order.
std::optional<BatchNormForward> ParseBatchNormForward(const OpCall& call) {
  BatchNormForward f;
  f.training = TruthOr(Argument(call, 5), false);
  f.op.x = call.InputTensor(0);
  f.op.weight = call.InputTensor(1);
  f.op.bias = call.InputTensor(2);
  f.running_mean = call.InputTensor(3);
  f.running_var = call.InputTensor(4);
  f.momentum = NumberOr(Argument(call, 6), 0);
  f.eps = NumberOr(Argument(call, 7), 0);
  f.y = call.OutputTensor(0);
  f.op.mean = f.training ? call.OutputTensor(1) : f.running_mean;
  f.op.rstd = f.training ? call.OutputTensor(2) : f.running_var;
  if (f.y == nullptr || f.op.mean == nullptr || !f.op.TypesFit() || f.y->dtype != f.op.x->dtype ||
      (f.running_mean == nullptr) != (f.running_var == nullptr)) {
    return std::nullopt;
  }
  if (f.running_mean != nullptr &&
      (f.running_mean->dtype != f.op.mean->dtype || f.running_var->dtype != f.op.mean->dtype)) {
    return std::nullopt;
  }
  const std::optional<BatchNormExtents> extents = ExtentsOf(*f.op.x);
  if (!extents || f.y->shape != f.op.x->shape ||
      !ArePerChannel({f.op.weight, f.op.bias, f.op.mean, f.op.rstd, f.running_mean, f.running_var},
                     extents->channels)) {
    return std::nullopt;
  }
  f.extents = *extents;
  return f;
}

// aten::native_batch_norm_backward(grad, input, weight?, running_mean?, running_var?, save_mean?,
// save_invstd?, train, eps, mask[3]); the libraries' take (input, grad, …, eps) and always train.
std::optional<BatchNormBackward> ParseBatchNormBackward(const OpCall& call) {
  const bool native = call.name == "aten::native_batch_norm_backward";
  const Value& mask = Argument(call, 9);
  BatchNormBackward b;
  b.training = !native || TruthOr(Argument(call, 7), false);
  b.g = call.InputTensor(native ? 0 : 1);
  b.op.x = call.InputTensor(native ? 1 : 0);
  b.op.weight = call.InputTensor(2);
  b.op.mean = call.InputTensor(b.training ? 5 : 3);
  b.op.rstd = call.InputTensor(b.training ? 6 : 4);
  b.eps = NumberOr(Argument(call, native ? 8 : 7), 0);
  b.dx = !native || MaskAt(mask, 0) ? call.OutputTensor(0) : nullptr;
  b.dw = !native || MaskAt(mask, 1) ? call.OutputTensor(1) : nullptr;
  b.db = !native || MaskAt(mask, 2) ? call.OutputTensor(2) : nullptr;
  if (b.g == nullptr || b.op.mean == nullptr || !b.op.TypesFit() || b.g->dtype != b.op.x->dtype ||
      b.g->shape != b.op.x->shape || !b.op.GradientsFit(b.dx, b.dw, b.db)) {
    return std::nullopt;
  }
  const std::optional<BatchNormExtents> extents = ExtentsOf(*b.op.x);
  if (!extents ||
      !ArePerChannel({b.op.weight, b.op.mean, b.op.rstd, b.dw, b.db}, extents->channels)) {
    return std::nullopt;
  }
  b.extents = *extents;
  return b;
}

}  // namespace reprise
