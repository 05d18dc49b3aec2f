// Arguments of two calls, compared.
#pragma once

#include "core/value.h"

namespace reprise::pytorch {

// Whether shapes, strides, types and numbers are the same; tensors' identities may differ.
[[nodiscard]] bool SameArguments(const ValueList& a, const ValueList& b);

}  // namespace reprise::pytorch
