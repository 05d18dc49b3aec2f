#include "converters/pytorch/rank/same_arguments.h"

#include <algorithm>

namespace reprise::pytorch {
namespace {

bool SameArgument(const Value& a, const Value& b) {
  const TensorDesc* const tensor = a.AsTensor();
  const TensorDesc* const other = b.AsTensor();
  if (tensor != nullptr && other != nullptr) {
    return tensor->dtype == other->dtype && tensor->shape == other->shape &&
           tensor->strides == other->strides;
  }
  if (a.AsList() != nullptr && b.AsList() != nullptr) {
    return SameArguments(*a.AsList(), *b.AsList());
  }
  return a == b;
}

}  // namespace

bool SameArguments(const ValueList& a, const ValueList& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), SameArgument);
}

}  // namespace reprise::pytorch
