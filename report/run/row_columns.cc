#include "report/run/row_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <system_error>
#include <utility>

#include "core/checksums.h"
#include "core/sqlite/database.h"
#include "core/stored_values.h"
#include "core/temporary_output.h"
#include "report/run/schema.h"
#include "report/run/table_rows.h"

namespace reprise {
namespace {

constexpr std::string_view kColumnsFormat = "reprise-columns-1";
// That SQLite takes for a row of two columns or more: its place, its size, its number, the types.
constexpr std::uint64_t kLeastBytesOfRow = 6;

// What a file has behind its blocks, which are table by table. Behind it come its size in eight
// bytes and the checksum of all before.
struct ColumnsOfTable {
  std::string table, names;
  std::int64_t rows = 0;
  std::vector<std::uint64_t> block_bytes;
};
struct ColumnsIndex {
  std::string format = std::string(kColumnsFormat);
  std::string checksum;  // of the rank's file
  std::vector<ColumnsOfTable> tables;
};

class ColumnsWriter {
 public:
  ColumnsWriter(const std::string& path, std::string checksum)
      : file_(path, std::ios::binary), index_{.checksum = std::move(checksum), .tables = {}} {}

  template <typename Row>
  [[nodiscard]] Status Add(Database& database) {
    ColumnsOfTable& of_table = index_.tables.emplace_back(
        ColumnsOfTable{.table = std::string(TableName(static_cast<const Row*>(nullptr))),
                       .names = NumberColumns<Row>(),
                       .block_bytes = {}});
    const std::string rows = RowsOf(of_table.table);
    REPRISE_ASSIGN(
        Statement select,
        database.Prepare(fmt::format("SELECT {} FROM {} ORDER BY rowid", of_table.names, rows)));
    constexpr std::size_t kCount = kOwnColumns<Row> + 1;
    values_.resize(kCount * kRowsOfBlock);
    std::size_t in_block = 0;
    for (bool more = true; more;) {
      REPRISE_ASSIGN(more, select.Next());
      if (more) {
        REPRISE_TRY(TakeRow(select, kCount, in_block++, rows));
        ++of_table.rows;
      }
      if (in_block == kRowsOfBlock || (!more && in_block > 0)) {
        of_table.block_bytes.push_back(WriteBlock(kCount, std::exchange(in_block, 0)));
      }
    }
    return {};
  }
  // All but the own checksum.
  [[nodiscard]] bool Finish() {
    std::string end;
    ValueWriter write(end);
    write(index_);
    write(static_cast<std::uint64_t>(end.size()));
    file_ << end;
    file_.close();
    return static_cast<bool>(file_);
  }

 private:
  [[nodiscard]] Status TakeRow(const Statement& select, std::size_t columns, std::size_t row,
                               const std::string& table) {
    for (std::size_t c = 0; c < columns; ++c) {
      if (select.StoredType(static_cast<int>(c)) != StoredAs::kInteger) {
        return BadInput(fmt::format("table {}: a value that is no integer", table));
      }
      values_[c * kRowsOfBlock + row] = select.Int(static_cast<int>(c));
    }
    return {};
  }
  [[nodiscard]] std::uint64_t WriteBlock(std::size_t columns, std::size_t rows) {
    bytes_.clear();
    AppendColumnBlock(values_, columns, rows, bytes_);
    file_ << bytes_;
    return bytes_.size();
  }

  std::ofstream file_;
  ColumnsIndex index_;
  std::vector<std::int64_t> values_;  // of a block
  std::string bytes_;
};

Status AddTables(const std::string& path, ColumnsWriter& writer) {
  REPRISE_ASSIGN(Database database, Database::Open(path, Database::Access::kRead));
#define REPRISE_TABLE(table, Struct, where)    \
  if constexpr (kHasShared<Struct>) {          \
    REPRISE_TRY(writer.Add<Struct>(database)); \
  }
#include "report/run/schema.def"
  return database.Close();
}

// Whether the rows are as many as the blocks may have, and no more than a file of so many bytes.
bool HasPlausibleRows(const ColumnsIndex& index, std::uint64_t file_bytes) {
  std::uint64_t rows = 0;
  for (const ColumnsOfTable& table : index.tables) {
    const std::uint64_t of_blocks = table.block_bytes.size() * kRowsOfBlock;
    const auto of_table = static_cast<std::uint64_t>(table.rows);
    if (of_table > of_blocks || of_table + kRowsOfBlock <= of_blocks) {
      return false;
    }
    rows += of_table;
  }
  return rows <= file_bytes / kLeastBytesOfRow;
}

// Whether it has the tables of this program and no others, with their columns.
bool HasKnownTables(const ColumnsIndex& index) {
  std::map<std::string, std::string> known;
#define REPRISE_TABLE(table, Struct, where)  \
  if constexpr (kHasShared<Struct>) {        \
    known[#table] = NumberColumns<Struct>(); \
  }
#include "report/run/schema.def"
  std::map<std::string, std::string> found;
  for (const ColumnsOfTable& table : index.tables) {
    found[table.table] = table.names;
  }
  return found == known && index.tables.size() == known.size();
}

// Of verified bytes; leaves the blocks.
std::optional<ColumnsIndex> TakeIndex(std::string_view& bytes) {
  std::uint64_t size = 0;
  if (bytes.size() < sizeof(size)) {
    return std::nullopt;
  }
  bytes.remove_suffix(sizeof(size));
  std::memcpy(&size, bytes.data() + bytes.size(), sizeof(size));
  if (size > bytes.size()) {
    return std::nullopt;
  }
  ValueReader read(bytes.substr(bytes.size() - size));
  bytes.remove_suffix(size);
  ColumnsIndex index;
  read(index);
  return read.AtEnd() && index.format == kColumnsFormat ? std::optional(std::move(index))
                                                        : std::nullopt;
}

}  // namespace

Status WriteRowColumns(const std::string& directory, int rank) {
  const std::string path = RankPath(directory, rank);
  REPRISE_ASSIGN(std::string checksum, ChecksumOf(path));
  REPRISE_ASSIGN(TemporaryOutput draft, TemporaryOutput::File(ColumnsPath(directory, rank)));
  ColumnsWriter writer(draft.path(), std::move(checksum));
  REPRISE_TRY(AddTables(path, writer));
  if (!writer.Finish()) {
    return EnvironmentError(ColumnsPath(directory, rank) + ": cannot be written");
  }
  REPRISE_TRY(AppendOwnChecksum(draft.path()));
  return draft.Publish();
}

std::optional<RowColumns> RowColumns::Read(const std::string& directory, int rank,
                                           const std::string& checksum) {
  const std::string path = ColumnsPath(directory, rank);
  std::error_code error;
  if (checksum.empty() || !std::filesystem::is_regular_file(path, error)) {
    return std::nullopt;
  }
  std::optional<std::string> verified = ReadWithOwnChecksum(path);
  if (!verified) {
    return std::nullopt;
  }
  RowColumns columns;
  columns.bytes_ = std::make_unique<const std::string>(std::move(*verified));
  std::string_view blocks = *columns.bytes_;
  const std::optional<ColumnsIndex> index = TakeIndex(blocks);
  const auto file_bytes = std::filesystem::file_size(RankPath(directory, rank), error);
  if (!index || index->checksum != checksum || !HasKnownTables(*index) || error ||
      !HasPlausibleRows(*index, file_bytes)) {
    return std::nullopt;
  }
  for (const ColumnsOfTable& of_table : index->tables) {
    NumberTable& table = columns.tables_[of_table.table];
    table.rows = of_table.rows;
    for (const std::uint64_t bytes : of_table.block_bytes) {
      if (bytes > blocks.size()) {
        return std::nullopt;
      }
      table.blocks.push_back(blocks.substr(0, bytes));
      blocks.remove_prefix(bytes);
    }
  }
  return blocks.empty() ? std::optional(std::move(columns)) : std::nullopt;
}

const NumberTable& RowColumns::Of(std::string_view table) const {
  return tables_.find(table)->second;
}

bool ColumnCursor::Load(std::int64_t row) {
  if (row < 0 || row >= table_.rows) {
    return false;
  }
  const std::size_t block = static_cast<std::size_t>(row) / kRowsOfBlock;
  const auto begin = static_cast<std::int64_t>(block * kRowsOfBlock);
  const std::int64_t end = std::min(begin + static_cast<std::int64_t>(kRowsOfBlock), table_.rows);
  begin_ = end_ = 0;
  if (block >= table_.blocks.size() ||
      !ReadColumnBlock(table_.blocks[block], columns_, static_cast<std::size_t>(end - begin),
                       values_)) {
    return false;
  }
  begin_ = begin;
  end_ = end;
  at_ = static_cast<std::size_t>(row - begin);
  return true;
}

}  // namespace reprise
