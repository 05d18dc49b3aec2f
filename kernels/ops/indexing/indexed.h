// What an index argument selects, shared by reading (index, index_select, gather) and writing
// (index_put_, index_add_, scatter_).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/cpu/parallel_for.h"
#include "kernels/ops/common/host_values.h"
#include "kernels/ops/indexing/index_rows.h"

namespace reprise {

// A table (batch, table_rows, width) and the rows (batch, count, width) that indices name.
struct Indexed {
  std::vector<const TensorDesc*> indices;  // one shape, one dtype
  std::vector<std::int64_t> extents;       // of the indexed dimensions
  std::int64_t batch = 1, table_rows = 1, count = 1, width = 1;
  Dims rows_shape;  // of what is selected

  // The row of the table that each of `count` index elements names.
  [[nodiscard]] Result<Integers> Positions(const HostBindings& memory) const;
  // The indices bound; table and rows are the caller's.
  [[nodiscard]] IndexRows Job(RowLowering& rows) const;
  // Calls body(first element of a selected row, first element of the table's) in order.
  template <typename Body>
  void ForEachRow(const Integers& positions, Body&& body) const {
    for (std::int64_t b = 0; b < batch; ++b) {
      for (std::int64_t j = 0; j < count; ++j) {
        body((b * count + j) * width,
             (b * table_rows + positions[static_cast<std::size_t>(j)]) * width);
      }
    }
  }
};

// self[indices]: a list of index tensors of one shape and dtype, up to four next to each other;
// None in front and behind keeps dimensions. Nothing for anything else (masks, broadcasting).
[[nodiscard]] std::optional<Indexed> IndexedBy(const TensorDesc& self, const Value& indices);
// Along one dimension by a one-dimensional (or scalar) index.
[[nodiscard]] std::optional<Indexed> IndexedDim(const TensorDesc& self, const Value& dim,
                                                const TensorDesc* index);

// What an operator that writes by index writes to: self in place, else a copy of it, of self's
// shape and dtype. Null if there is none.
[[nodiscard]] const TensorDesc* WriteTarget(const OpCall& call);
// The d-th of a list of indices if it is a tensor; null where it keeps its dimension.
[[nodiscard]] const TensorDesc* IndexAt(const ValueList& indices, std::size_t d);

// An index of any shape into the rows of a matrix (table_rows, width).
[[nodiscard]] Indexed IndexedRows(const TensorDesc& index, std::int64_t table_rows,
                                  std::int64_t width);

// gather and scatter: `table` is (outer, extent, inner), `index` (outer, count, inner).
struct Around {
  std::int64_t outer = 1, extent = 1, count = 1, inner = 1;
  // The table's element that the k-th element of the index, of value `index`, names.
  [[nodiscard]] std::int64_t Target(std::int64_t k, std::int64_t index) const {
    return (k / (count * inner) * extent + InRange(index, extent)) * inner + k % inner;
  }
};
// On the host: body(element of the index, element of the table that it names), lines along the
// middle side by side; `bytes`: what an element takes.
template <typename Body>
void ForEachTarget(const Around& at, const Integers& indices, double bytes, const Body& body) {
  const std::int64_t line = at.count * at.inner;
  ParallelFor(at.outer, GrainSize(static_cast<double>(line) * bytes),
              [&](std::int64_t begin, std::int64_t end) {
                for (std::int64_t outer = begin; outer < end; ++outer) {
                  const std::int64_t first = outer * line;
                  const std::int64_t table = outer * at.extent * at.inner;
                  for (std::int64_t k = 0, x = 0; k < line; ++k) {
                    const std::int64_t i =
                        InRange(indices[static_cast<std::size_t>(first + k)], at.extent);
                    body(first + k, table + i * at.inner + x);
                    x = x + 1 == at.inner ? 0 : x + 1;
                  }
                }
              });
}
// Nothing if the shapes differ elsewhere than along `dim`.
[[nodiscard]] std::optional<Around> AlongDim(const TensorDesc& table, const TensorDesc& index,
                                             const Value& dim);

}  // namespace reprise
