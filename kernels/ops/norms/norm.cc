#include "kernels/ops/norms/norm.h"

namespace reprise {

bool NormOperands::TypesFit() const {
  if (x == nullptr || rstd == nullptr) {
    return false;
  }
  for (const TensorDesc* tensor : {x, weight, bias, mean, rstd}) {
    if (tensor != nullptr && !IsFloatKernelType(tensor->dtype)) {
      return false;
    }
  }
  return (weight == nullptr || bias == nullptr || weight->dtype == bias->dtype) &&
         (mean == nullptr || mean->dtype == rstd->dtype);
}

bool NormOperands::GradientsFit(const TensorDesc* dx, const TensorDesc* dw,
                                const TensorDesc* db) const {
  const DType parameter = weight != nullptr ? weight->dtype : x->dtype;
  return (dx == nullptr || (dx->dtype == x->dtype && Count(*dx) == Count(*x))) &&
         (dw == nullptr || dw->dtype == parameter) && (db == nullptr || db->dtype == parameter);
}

Status NormOperands::UseTypes(RowLowering& rows, const TensorDesc* gradient) const {
  const TensorDesc* parameter = weight != nullptr ? weight : bias != nullptr ? bias : gradient;
  const DType w = parameter != nullptr ? parameter->dtype : x->dtype;
  return rows.UseTypes({{"X", x->dtype}, {"W", w}, {"S", rstd->dtype}}, AccumulatorOf(x->dtype));
}

}  // namespace reprise
