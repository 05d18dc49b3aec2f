#include "kernels/ops/norms/norm.h"

namespace reprise {

void NormOperands::WantGradients(const OpCall& call, const Value& mask) {
  dx = MaskAt(mask, 0) ? call.OutputTensor(0) : nullptr;
  dw = MaskAt(mask, 1) ? call.OutputTensor(1) : nullptr;
  db = MaskAt(mask, 2) ? call.OutputTensor(2) : nullptr;
}

bool NormOperands::Fit() const {
  const TensorDesc* partner = g != nullptr ? g : y;
  if (x == nullptr || rstd == nullptr || partner == nullptr || partner->shape != x->shape) {
    return false;
  }
  for (const TensorDesc* tensor : {x, weight, bias, mean, rstd}) {
    if (tensor != nullptr && !IsFloatKernelType(tensor->dtype)) {
      return false;
    }
  }
  const DType parameter = weight != nullptr ? weight->dtype : x->dtype;
  return partner->dtype == x->dtype &&
         (weight == nullptr || bias == nullptr || weight->dtype == bias->dtype) &&
         (mean == nullptr || mean->dtype == rstd->dtype) &&
         (dx == nullptr || (dx->dtype == x->dtype && Count(*dx) == Count(*x))) &&
         (dw == nullptr || dw->dtype == parameter) && (db == nullptr || db->dtype == parameter);
}

void NormOperands::UseTypes(RowLowering& rows) const {
  const TensorDesc* parameter = weight != nullptr ? weight : bias != nullptr ? bias : x;
  rows.UseTypes({{"X", x->dtype}, {"W", parameter->dtype}, {"S", rstd->dtype}},
                AccumulatorOf(x->dtype));
}

std::int32_t NormOperands::Flags() const {
  return (weight != nullptr ? kNormHasWeight : 0) | (bias != nullptr ? kNormHasBias : 0) |
         (dx != nullptr ? kNormWantInput : 0) | (dw != nullptr ? kNormWantWeight : 0) |
         (db != nullptr ? kNormWantBias : 0);
}

}  // namespace reprise
