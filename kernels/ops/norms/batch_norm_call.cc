#include "kernels/ops/norms/batch_norm_call.h"

namespace reprise {
namespace {

// Sets the extents; false if x has none or a statistic or parameter has not one element a channel.
bool SetExtents(BatchNormCall& p) {
  if (p.x->shape.size() < 2 || Count(*p.x) == 0) {
    return false;
  }
  p.extents = {p.x->shape[0], p.x->shape[1], Count(*p.x) / p.x->shape[0] / p.x->shape[1]};
  for (const TensorDesc* tensor :
       {p.weight, p.bias, p.mean, p.rstd, p.running_mean, p.running_var, p.dw, p.db}) {
    if (tensor != nullptr && Count(*tensor) != p.extents.channels) {
      return false;
    }
  }
  return true;
}

// aten::native_batch_norm(input, weight?, bias?, running_mean?, running_var?, training, momentum,
// eps) -> (y, save_mean, save_invstd); the libraries' have the same order.
std::optional<BatchNormCall> ParseBatchForward(const OpCall& call) {
  BatchNormCall f;
  f.training = TruthOr(call.Argument(5), false);
  f.x = call.InputTensor(0);
  f.weight = call.InputTensor(1);
  f.bias = call.InputTensor(2);
  f.running_mean = call.InputTensor(3);
  f.running_var = call.InputTensor(4);
  f.momentum = NumberOr(call.Argument(6), 0);
  f.eps = NumberOr(call.Argument(7), 0);
  f.y = call.OutputTensor(0);
  f.mean = f.training ? call.OutputTensor(1) : f.running_mean;
  f.rstd = f.training ? call.OutputTensor(2) : f.running_var;
  const auto is_like_mean = [&](const TensorDesc* t) {
    return t == nullptr || t->dtype == f.mean->dtype;
  };
  const bool fits = f.mean != nullptr && f.Fit() &&
                    (f.running_mean == nullptr) == (f.running_var == nullptr) &&
                    is_like_mean(f.running_mean) && is_like_mean(f.running_var) && SetExtents(f);
  return fits ? std::optional(f) : std::nullopt;
}

// aten::native_batch_norm_backward(grad, input, weight?, running_mean?, running_var?, save_mean?,
// save_invstd?, train, eps, mask[3]); the libraries' take (input, grad, …, eps) and always train.
std::optional<BatchNormCall> ParseBatchBackward(const OpCall& call) {
  const bool native = call.name == "aten::native_batch_norm_backward";
  const Value all{ValueList{Value{true}, Value{true}, Value{true}}};
  BatchNormCall b;
  b.training = !native || TruthOr(call.Argument(7), false);
  b.g = call.InputTensor(native ? 0 : 1);
  b.x = call.InputTensor(native ? 1 : 0);
  b.weight = call.InputTensor(2);
  b.mean = call.InputTensor(b.training ? 5 : 3);
  b.rstd = call.InputTensor(b.training ? 6 : 4);
  b.eps = NumberOr(call.Argument(native ? 8 : 7), 0);
  b.WantGradients(call, native ? call.Argument(9) : all);
  const bool fits = b.g != nullptr && b.mean != nullptr && b.Fit() && SetExtents(b);
  return fits ? std::optional(b) : std::nullopt;
}

}  // namespace

std::optional<BatchNormCall> ParseBatchNorm(const OpCall& call) {
  return call.name.ends_with("_backward") ? ParseBatchBackward(call) : ParseBatchForward(call);
}

}  // namespace reprise
