// The tensors of a node's values.
#pragma once

#include "core/value.h"

namespace reprise {

// Calls visit(tensor) for the tensors of values and of lists in them, in order.
template <typename Visit>
void ForEachTensor(const ValueList& values, const Visit& visit) {
  for (const Value& value : values) {
    if (const TensorDesc* const tensor = value.AsTensor()) {
      visit(*tensor);
    } else if (const ValueList* const list = value.AsList()) {
      ForEachTensor(*list, visit);
    }
  }
}
// The same, of tensors that `visit` changes.
template <typename Visit>
void ChangeEachTensor(ValueList& values, const Visit& visit) {
  for (Value& value : values) {
    if (TensorDesc* const tensor = value.AsTensor()) {
      visit(*tensor);
    } else if (ValueList* const list = value.AsList()) {
      ChangeEachTensor(*list, visit);
    }
  }
}

}  // namespace reprise
