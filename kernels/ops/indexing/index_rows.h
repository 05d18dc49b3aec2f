// Rows read and written by index: the launches of index_read.cl and index_write.cl that embedding
// and indexing share.
#pragma once

#include <array>

#include "kernels/ops/common/row_lowering.h"

namespace reprise {

enum class IndexWrite : std::int32_t { kSet = 0, kAdd = 1, kMultiply = 2 };

// `table` is (batch, table_rows, width), `rows` (batch, count, width). Up to four index operands of
// `count` elements and one dtype name a row together: extents multiply to table_rows. Unused index
// operands repeat the first with extent 1.
struct IndexRows {
  static constexpr std::size_t kMaxIndices = 4;
  DenseOperand table, rows;
  std::array<DenseOperand, kMaxIndices> index;
  std::array<std::int64_t, kMaxIndices> extents = {1, 1, 1, 1};
  DType index_type = DType::kInt64;
  std::int64_t batch = 1, table_rows = 1, count = 0, width = 1;
  // Writing only: a row that is left alone, a factor, whether the table starts from zero.
  std::int64_t skip = -1;
  double alpha = 1;
  bool clear = false;
};

// rows = table[index]
void AppendReadRows(RowLowering& rows, const IndexRows& job, DType dtype);
// table[index] = rows, or += alpha rows. In order: the last of equal indices wins.
void AppendWriteRows(RowLowering& rows, const IndexRows& job, DType dtype, IndexWrite mode);

}  // namespace reprise
