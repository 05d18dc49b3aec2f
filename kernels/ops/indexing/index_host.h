// Reading and writing by index on the host: elements in place, of any dtype, instead of in
// vectors of double.
#pragma once

#include "kernels/ops/indexing/indexed.h"

namespace reprise {

// out = table[…], as index, index_select and take do it. Both dense, of one dtype.
[[nodiscard]] Status ReadRowsOnHost(const Indexed& indexed, const TensorDesc& table,
                                    const TensorDesc& out, const HostBindings& memory);
// The same as a form of calls that several kernels have: tensors of any strides.
struct IndexReadCall {
  const TensorDesc* table = nullptr;
  const TensorDesc* out = nullptr;
  Indexed indexed;
};
[[nodiscard]] Status ReferenceIndexRead(const IndexReadCall& r, const HostBindings& memory);
[[nodiscard]] Status RunIndexReadOnHost(const IndexReadCall& r, const HostBindings& memory);
void LowerIndexRead(const IndexReadCall& r, RowLowering& rows);

// out[k] = table[at.Target(k, index[k])]. All dense.
[[nodiscard]] Status GatherOnHost(const Around& at, const TensorDesc& table,
                                  const TensorDesc& index, const TensorDesc& out,
                                  const HostBindings& memory);

// table[…] = rows, or += alpha rows, in the order of the indices; dense, float32 where it adds.
[[nodiscard]] Status WriteRowsOnHost(const Indexed& indexed, IndexWrite mode, double alpha,
                                     const TensorDesc& rows, const TensorDesc& table,
                                     const HostBindings& memory);
// table[at.Target(k, index[k])] = or += source[k]; without a source, `value`. Dense, float32.
[[nodiscard]] Status ScatterOnHost(const Around& at, IndexWrite mode, const TensorDesc& index,
                                   const TensorDesc* source, double value, const TensorDesc& table,
                                   const HostBindings& memory);

}  // namespace reprise
