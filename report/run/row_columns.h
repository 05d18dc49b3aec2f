// The numbers of a rank's file once more, for who reads all of them: SQLite gives them row by row,
// which is most of the time of a large run's first report. rank<N>.columns has the columns that
// rows do not share, of the tables that have shared ones, as rank<N>.sqlite has them
// (docs/run_format.md). It names the file that it is of by its checksum.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "report/run/column_blocks.h"

namespace reprise {

// Files of so many bytes get one: of smaller ones SQLite gives all rows at once.
inline constexpr std::int64_t kColumnsFromBytes = std::int64_t{1} << 20;

// Of a rank's closed file. Environment error: it cannot be written. Bad input: the file is damaged,
// or a row has no integer in such a column; there is no such file of columns then.
[[nodiscard]] Status WriteRowColumns(const std::string& directory, int rank);

// The numbers of one table: views into a RowColumns.
struct NumberTable {
  std::int64_t rows = 0;
  std::vector<std::string_view> blocks;  // report/run/column_blocks.h
};

class RowColumns {
 public:
  // Of the rank's file with this checksum. Nothing: there are none, they are of another file or of
  // another form, or they are damaged.
  [[nodiscard]] static std::optional<RowColumns> Read(const std::string& directory, int rank,
                                                      const std::string& checksum);
  // Of a table with shared columns: those of NumberColumns (report/run/table_rows.h).
  [[nodiscard]] const NumberTable& Of(std::string_view table) const;

 private:
  std::unique_ptr<const std::string> bytes_;  // of the file; blocks are views of it
  std::map<std::string, NumberTable, std::less<>> tables_;
};

// Goes over the rows of a table, mostly from each to the next.
class ColumnCursor {
 public:
  ColumnCursor(const NumberTable& table, std::size_t columns) : table_(table), columns_(columns) {}

  // To the row with this number, counted from 1. False: it is not there.
  [[nodiscard]] bool Seek(std::int64_t number) {
    const std::int64_t row = number - 1;
    if (row >= begin_ && row < end_) {
      at_ = static_cast<std::size_t>(row - begin_);
      return true;
    }
    return Load(row);
  }
  // Of the current row.
  [[nodiscard]] std::int64_t operator[](std::size_t column) const {
    return values_[column * kRowsOfBlock + at_];
  }
  // Likewise, the first N columns.
  template <std::size_t N>
  [[nodiscard]] std::array<std::int64_t, N> First() const {
    std::array<std::int64_t, N> values{};
    for (std::size_t c = 0; c < N; ++c) {
      values[c] = (*this)[c];
    }
    return values;
  }

 private:
  [[nodiscard]] bool Load(std::int64_t row);

  const NumberTable& table_;
  std::size_t columns_;
  std::vector<std::int64_t> values_;  // of the rows from begin_ to end_
  std::int64_t begin_ = 0, end_ = 0;
  std::size_t at_ = 0;
};

}  // namespace reprise
