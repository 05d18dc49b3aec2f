// The rows of one table straight from the pages of an SQLite file (sqlite.org/fileformat2.html):
// several times as fast as a statement, whose work by row and column is most of what it costs to
// read a large run.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/file_descriptor.h"
#include "core/result.h"
#include "report/run/database.h"

namespace reprise {

// Reads as a Statement of "SELECT <all columns but the first> FROM table ORDER BY rowid" does.
class TableScan {
 public:
  // `database` is that file, in a read transaction that lasts as long as the scan. Nothing: the
  // pages alone do not say what the table holds (a write-ahead log is there, the columns are not
  // `columns`): ask by a statement.
  static Result<std::optional<TableScan>> Open(Database& database, const std::string& path,
                                               std::string_view table,
                                               const std::vector<std::string_view>& columns);

  // True: a row is there. False: no more. Bad input: the file is damaged.
  [[nodiscard]] Result<bool> Next();

  // Of the current row: the first column, and the others as Statement has them.
  [[nodiscard]] std::int64_t First() const { return IntOf(fields_.front()); }
  [[nodiscard]] std::int64_t Int(int column) const { return IntOf(FieldAt(column)); }
  [[nodiscard]] double Real(int column) const {
    const Field& field = FieldAt(column);
    return field.type == kReal   ? std::bit_cast<double>(BigEndian(field.bytes, 8))
           : field.type == kNull ? std::numeric_limits<double>::quiet_NaN()
                                 : static_cast<double>(IntOf(field));
  }
  [[nodiscard]] StoredAs StoredType(int column) const {
    const std::uint64_t type = FieldAt(column).type;
    return type == kNull          ? StoredAs::kNothing
           : type == kReal        ? StoredAs::kReal
           : type < kFirstOfBytes ? StoredAs::kInteger
           : type % 2 == 1        ? StoredAs::kText
                                  : StoredAs::kBytes;
  }
  [[nodiscard]] std::string Text(int column) const { return ShownText(View(column)); }
  [[nodiscard]] std::string_view View(int column) const {  // until the next row
    const Field& field = FieldAt(column);
    return field.type < kFirstOfBytes
               ? std::string_view()
               : std::string_view(reinterpret_cast<const char*>(field.bytes), BytesOf(field.type));
  }

 private:
  // A page on the way from the table's root to the current row.
  struct Level {
    std::vector<unsigned char> page;
    std::uint32_t header = 0;  // where the page's own header begins
    std::uint32_t cell = 0, cells = 0;
    bool leaf = false;
  };
  // A value: its "serial type", and where its bytes are.
  struct Field {
    std::uint64_t type = 0;
    const unsigned char* bytes = nullptr;
  };
  static constexpr std::uint64_t kNull = 0, kReal = 7, kOne = 9, kFirstOfBytes = 12;
  TableScan() = default;
  [[nodiscard]] Status ReadPage(std::uint32_t number, std::vector<unsigned char>& page);
  [[nodiscard]] Status Descend(std::uint32_t number);
  [[nodiscard]] Status ReadCell(const Level& leaf);
  [[nodiscard]] Status ReadOverflow(std::uint32_t number, std::uint64_t bytes);
  [[nodiscard]] Status ReadFields(const unsigned char* record, std::uint64_t bytes);
  [[nodiscard]] tl::unexpected<Error> Damaged() const;
  [[nodiscard]] const Field& FieldAt(int column) const {
    return fields_[static_cast<std::size_t>(column) + 1];
  }
  [[nodiscard]] static std::uint64_t BytesOf(std::uint64_t type) {
    constexpr std::array<std::uint8_t, kFirstOfBytes> kBytes = {0, 1, 2, 3, 4, 6, 8, 8};
    return type < kFirstOfBytes ? kBytes[type] : (type - kFirstOfBytes) / 2;
  }
  [[nodiscard]] static std::uint64_t BigEndian(const unsigned char* at, std::uint64_t bytes) {
    std::uint64_t value = 0;
    for (std::uint64_t i = 0; i < bytes; ++i) {
      value = value << 8U | at[i];
    }
    return value;
  }
  // 0 of what is no integer.
  [[nodiscard]] static std::int64_t IntOf(const Field& field) {
    if (field.type >= kReal) {
      return field.type == kOne ? 1 : 0;
    }
    const std::uint64_t bytes = BytesOf(field.type);
    const auto unused_bits = (8 * (8 - bytes)) % 64;
    return static_cast<std::int64_t>(BigEndian(field.bytes, bytes) << unused_bits) >> unused_bits;
  }

  std::string path_;
  FileDescriptor file_;
  std::uint32_t page_bytes_ = 0, usable_bytes_ = 0;
  std::uint64_t pages_ = 0, pages_read_ = 0;  // of the file; no scan needs more
  std::vector<Level> levels_;
  std::size_t depth_ = 0;              // of levels_ that are in use
  std::vector<unsigned char> record_;  // of a row that does not fit on its page
  std::vector<Field> fields_;
};

}  // namespace reprise
