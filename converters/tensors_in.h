// The tensors of arguments.
#pragma once

#include "core/value.h"

namespace reprise {

// Calls visit(tensor) for every tensor in a list of values, defined or not, lists in it flattened
// in order: as TensorsIn, without a list of them, and for values that are to be changed too.
template <typename Values, typename Visit>
void ForEachTensor(Values&& values, const Visit& visit) {
  for (auto& value : values) {
    if (auto* tensor = value.AsTensor()) {
      visit(*tensor);
    } else if (auto* list = value.AsList()) {
      ForEachTensor(*list, visit);
    }
  }
}

}  // namespace reprise
