// Rows of a table out of the columns of their numbers (report/run/row_columns.h).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "report/run/id_set.h"
#include "report/run/repeated_rows.h"
#include "report/run/row_columns.h"
#include "report/run/table_rows.h"

namespace reprise {

// The row whose numbers a cursor is at, moved as the part says; nothing: there is none.
template <typename Row>
[[nodiscard]] std::optional<OwnValues<Row>> ValuesOf(const RowPart& part, std::int64_t number,
                                                     ColumnCursor& row, ColumnCursor& before) {
  if (!row.Seek(number)) {
    return std::nullopt;
  }
  const auto values = row.First<kOwnColumns<Row>>();
  if (part.repetition == 0) {
    return values;
  }
  return before.Seek(number - part.back)
             ? Moved(before.First<kOwnColumns<Row>>(), values, part.repetition)
             : std::nullopt;
}

// Rows of `parts`, in order; of those of `nodes` alone, where it is not null and the first column
// is a node's id. `shared`: by number, counted from 1; rows of one that is not there are another
// rank's. False: some row is not in the columns, or refers to no shared one; `rows` is as it was.
template <typename Row>
[[nodiscard]] bool AppendRowsOf(const NumberTable& from, std::span<const RowPart> parts,
                                const std::vector<std::optional<Row>>& shared, const IdSet* nodes,
                                std::vector<Row>& rows) {
  constexpr std::size_t kOwn = kOwnColumns<Row>;
  const std::size_t begin = rows.size();
  std::size_t count = 0;
  for (const RowPart& part : parts) {
    if (part.last > from.rows) {
      return false;
    }
    count += static_cast<std::size_t>(part.last - part.first) + 1;
  }
  rows.reserve(nodes == nullptr ? begin + count : begin);
  ColumnCursor row(from, kOwn + 1), before(from, kOwn + 1);
  for (const RowPart& part : parts) {
    for (std::int64_t number = part.first; number <= part.last; ++number) {
      const auto values = ValuesOf<Row>(part, number, row, before);
      const std::int64_t of_shared = values ? row[kOwn] : 0;
      if (of_shared < 1 || of_shared > static_cast<std::int64_t>(shared.size())) {
        rows.resize(begin);
        return false;
      }
      const std::optional<Row>& same = shared[static_cast<std::size_t>(of_shared) - 1];
      if (same &&
          (nodes == nullptr || nodes->Contains(static_cast<std::uint64_t>(values->front())))) {
        SetOwnValues(*values, rows.emplace_back(*same));
      }
    }
  }
  return true;
}

}  // namespace reprise
