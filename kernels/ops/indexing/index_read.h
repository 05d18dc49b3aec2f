// Reading by index, as a form of calls that several kernels have.
#pragma once

#include "kernels/ops/indexing/indexed.h"

namespace reprise {

// out = table[…], as index, index_select and take do it; tensors of any strides, of one dtype.
struct IndexReadCall {
  const TensorDesc* table = nullptr;
  const TensorDesc* out = nullptr;
  Indexed indexed;
};
[[nodiscard]] Status ReferenceIndexRead(const IndexReadCall& r, const HostBindings& memory);
// Elements in place, instead of in vectors, where both are dense.
[[nodiscard]] Status RunIndexReadOnHost(const IndexReadCall& r, const HostBindings& memory);
void LowerIndexRead(const IndexReadCall& r, RowLowering& rows);

}  // namespace reprise
