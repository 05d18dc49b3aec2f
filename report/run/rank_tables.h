// The tables of a rank in a file of a run, row by row. Only the reader of ranks sees this.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/sqlite/database.h"
#include "report/run/column_rows.h"
#include "report/run/rank_content.h"
#include "report/run/repeated_rows.h"
#include "report/run/row_columns.h"
#include "report/run/table_rows.h"

namespace reprise {

// Where the stored rows of a table are among all.
class PlacesOfRows {
 public:
  // The rows of the next part are `count` from `place` on. Where some lack, none is known.
  void Add(const RowPart& part, std::size_t place, std::size_t count) {
    if (part.last - part.first + 1 == static_cast<std::int64_t>(count)) {
      runs_.push_back({part.first, part.last + 1, place});
    }
  }
  [[nodiscard]] std::optional<std::size_t> Of(std::int64_t number) const {
    const auto behind = std::ranges::upper_bound(runs_, number, {}, &Run::first);
    if (behind == runs_.begin() || number >= std::prev(behind)->end) {
      return std::nullopt;
    }
    return std::prev(behind)->place + static_cast<std::size_t>(number - std::prev(behind)->first);
  }

 private:
  struct Run {
    std::int64_t first = 0, end = 0;
    std::size_t place = 0;
  };
  std::vector<Run> runs_;  // ascending
};

// The tables of a file, and whose rows of them are wanted.
struct RankTables {
  Database& database;
  const std::string& path;
  int rank = 0;
  RankContent content = RankContent::kWhole;
  bool own_file = false;                          // it has no other rank's rows
  std::set<std::string, std::less<>> names = {};  // of an own file's tables
  const RowColumns* columns = nullptr;            // of an own file, where there are any
  // The transfers' nodes, where `columns` are read and nothing else is wanted.
  std::optional<IdSet> transfers = {};

  // All rows of the rank, in the order they were written.
  // `from`: the table, or a query in its place.
  template <typename Row>
  [[nodiscard]] Status Read(std::vector<Row>& rows,
                            std::string_view from = TableName(static_cast<Row*>(nullptr))) const {
    return ReadThat("", from, rows);
  }
  // Likewise, of a table of nodes or of their records: those that `content` wants.
  template <typename Row>
  [[nodiscard]] Status ReadOfNodes(
      std::vector<Row>& rows, std::string_view from = TableName(static_cast<Row*>(nullptr))) const {
    if (content == RankContent::kOutline) {
      return {};
    }
    const std::string_view table = TableName(static_cast<CollectiveInfo*>(nullptr));
    const auto id_in = [&](const std::string& column, const std::string& of) {
      return fmt::format(" AND {0} IN (SELECT {0} FROM {1})", column, of);
    };
    const std::string transfers =
        names.contains(PartsOf(table)) ? id_in(MovedColumn("node_id"), FromParts(table))
        : names.contains(SharedOf(table))
            ? id_in("node_id", RowsOf(table))
            : id_in("node_id", fmt::format("{} WHERE rank={}", table, rank));
    return ReadThat(content == RankContent::kTransfers ? transfers : "", from, rows);
  }

 private:
  // How many rows to make room for: vectors that grow would take twice the memory at times.
  [[nodiscard]] Result<std::size_t> Count(std::string_view table) const {
    if (!own_file || content == RankContent::kTransfers || content == RankContent::kOutline) {
      return 0;
    }
    REPRISE_ASSIGN(Statement select,
                   database.Prepare(fmt::format("SELECT count(*) FROM {}", table)));
    REPRISE_ASSIGN(const bool found, select.Next());
    return found ? static_cast<std::size_t>(select.Int(0)) : 0;
  }
  template <typename Row>
  [[nodiscard]] Status ReadThat(const std::string& condition, std::string_view from,
                                std::vector<Row>& rows) const {
    if constexpr (kHasShared<Row>) {
      if (names.contains(SharedOf(TableName(static_cast<Row*>(nullptr))))) {
        return ReadApart(condition, rows);
      }
    }
    REPRISE_ASSIGN(const std::size_t count, Count(from));
    rows.reserve(count);
    REPRISE_ASSIGN(Statement select,
                   database.Prepare(fmt::format("SELECT {} FROM {} WHERE rank={}{} ORDER BY rowid",
                                                SelectedColumns<Row>(), from, rank, condition)));
    for (;;) {
      REPRISE_ASSIGN(const bool more, select.Next());
      if (!more) {
        return {};
      }
      REPRISE_TRY(Checked(ReadColumns(select, ColumnPart::kAll, rows.emplace_back())));
    }
  }
  template <typename Row>
  [[nodiscard]] Status ReadApart(const std::string& condition, std::vector<Row>& rows) const {
    const std::string_view table = TableName(static_cast<Row*>(nullptr));
    SharedRows<Row> shared;
    REPRISE_TRY(ReadShared(table, shared));
    const bool parts = names.contains(PartsOf(table));
    REPRISE_ASSIGN(const bool taken, TakeColumns(condition.empty(), shared, rows));
    if (taken) {
      return {};
    }
    if (parts && condition.empty()) {
      return ReadParts(shared, rows);
    }
    if (!parts) {
      REPRISE_ASSIGN(const std::size_t count, Count(RowsOf(table)));
      rows.reserve(count);
    }
    std::string columns;
    const Row row{};
    VisitColumns(row, [&](const RunColumn& column, const auto& /*member*/) {
      if (!column.shared) {
        columns += (parts ? MovedColumn(column.name) : fmt::format("r.{}", column.name)) + ", ";
      }
    });
    REPRISE_ASSIGN(Statement select,
                   database.Prepare(fmt::format(
                       "SELECT {}r.shared FROM {} WHERE 1{}", columns,
                       parts ? FromParts(table) : fmt::format("{} r", RowsOf(table)), condition)));
    return ReadSelected(select, shared, rows);
  }
  // By number; nothing: another rank's.
  template <typename Row>
  using SharedRows = std::vector<std::optional<Row>>;
  // All rows of `select`: own columns and the number of the shared ones.
  template <typename Row>
  [[nodiscard]] Status ReadSelected(Statement& select, const SharedRows<Row>& shared,
                                    std::vector<Row>& rows) const {
    const int last = static_cast<int>(kOwnColumns<Row>);
    for (;;) {
      REPRISE_ASSIGN(const bool more, select.Next());
      if (!more) {
        return {};
      }
      const std::int64_t number =
          select.StoredType(last) == StoredAs::kInteger ? select.Int(last) : -1;
      if (number < 1 || number > static_cast<std::int64_t>(shared.size())) {
        return Checked(BadInput(
            fmt::format("table {}, column shared", RowsOf(TableName(static_cast<Row*>(nullptr))))));
      }
      if (const std::optional<Row>& values = shared[static_cast<std::size_t>(number) - 1]) {
        REPRISE_TRY(Checked(ReadColumns(select, ColumnPart::kOwn, rows.emplace_back(*values))));
      }
    }
  }
  // Stored rows are read once. Those that repeat are made of them: SQLite takes ten times as long.
  template <typename Row>
  [[nodiscard]] Status ReadParts(const SharedRows<Row>& shared, std::vector<Row>& rows) const {
    const std::string_view table = TableName(static_cast<Row*>(nullptr));
    std::vector<RowPart> parts;
    REPRISE_TRY(ReadRowParts(table, parts));
    REPRISE_ASSIGN(Statement select, database.Prepare(fmt::format(
                                         "SELECT {}, shared FROM {} WHERE rowid BETWEEN ? "
                                         "AND ? ORDER BY rowid",
                                         SelectedColumns<Row>(ColumnPart::kOwn), RowsOf(table))));
    REPRISE_ASSIGN(const std::size_t stored, Count(RowsOf(table)));
    std::size_t all = 0;
    for (const RowPart& part : parts) {
      all += std::min(static_cast<std::size_t>(part.last - part.first) + 1, stored);
    }
    rows.reserve(all);
    PlacesOfRows places;
    for (const RowPart& part : parts) {
      if (part.repetition == 0) {
        const std::size_t begin = rows.size();
        select.Bind(1, part.first);
        select.Bind(2, part.last);
        REPRISE_TRY(ReadSelected(select, shared, rows));
        places.Add(part, begin, rows.size() - begin);
        continue;
      }
      for (std::int64_t number = part.first; number <= part.last; ++number) {
        const auto last = places.Of(number);
        const auto before = places.Of(number - part.back);
        const auto moved = last && before ? Moved(OwnValuesOf(rows[*before]),
                                                  OwnValuesOf(rows[*last]), part.repetition)
                                          : std::nullopt;
        if (!moved) {
          return Checked(BadInput(fmt::format("table {}, column repetition", PartsOf(table))));
        }
        Row row = rows[*last];
        SetOwnValues(*moved, row);
        rows.push_back(std::move(row));
      }
    }
    return {};
  }
  // As ReadParts, or of transfers alone, without SQLite. False: the columns do not have them.
  template <typename Row>
  [[nodiscard]] Result<bool> TakeColumns(bool all, const SharedRows<Row>& shared,
                                         std::vector<Row>& rows) const {
    const std::string_view table = TableName(static_cast<Row*>(nullptr));
    if (columns == nullptr || !names.contains(PartsOf(table)) || (!all && !transfers)) {
      return false;
    }
    std::vector<RowPart> parts;
    REPRISE_TRY(ReadRowParts(table, parts));
    return AppendRowsOf(columns->Of(table), parts, shared, all ? nullptr : &*transfers, rows);
  }
  [[nodiscard]] Status ReadRowParts(std::string_view table, std::vector<RowPart>& parts) const {
    REPRISE_ASSIGN(
        Statement select,
        database.Prepare(fmt::format("SELECT first, last, back, repetition FROM {} ORDER BY rowid",
                                     PartsOf(table))));
    for (;;) {
      REPRISE_ASSIGN(const bool more, select.Next());
      if (!more) {
        return {};
      }
      for (const int column : {0, 1, 2, 3}) {
        if (select.StoredType(column) != StoredAs::kInteger) {
          return Checked(BadInput(fmt::format("table {}", PartsOf(table))));
        }
      }
      const RowPart& part =
          parts.emplace_back(RowPart{select.Int(0), select.Int(1), select.Int(2), select.Int(3)});
      if (part.first < 1 || part.last < part.first || part.back < 0 || part.back >= part.first ||
          part.repetition < 0) {
        return Checked(BadInput(fmt::format("table {}", PartsOf(table))));
      }
    }
  }
  // They are numbered from 1.
  template <typename Row>
  [[nodiscard]] Status ReadShared(std::string_view table, SharedRows<Row>& shared) const {
    REPRISE_ASSIGN(
        Statement select,
        database.Prepare(fmt::format("SELECT {}, rank, shared FROM {} ORDER BY shared",
                                     SelectedColumns<Row>(ColumnPart::kShared), SharedOf(table))));
    for (;;) {
      REPRISE_ASSIGN(const bool more, select.Next());
      if (!more) {
        return {};
      }
      Row& row = shared.emplace_back().emplace();
      REPRISE_TRY(Checked(ReadColumns(select, ColumnPart::kShared, row)));
      const int last = static_cast<int>(kColumns<Row> - kOwnColumns<Row>);
      if (select.Int(last + 1) != static_cast<std::int64_t>(shared.size())) {
        return Checked(BadInput(fmt::format("table {}, column shared", SharedOf(table))));
      }
      if (select.StoredType(last) != StoredAs::kInteger) {
        return Checked(BadInput(fmt::format("table {}, column rank", SharedOf(table))));
      }
      if (select.Int(last) != rank) {
        shared.back().reset();
      }
    }
  }
  [[nodiscard]] Status Checked(Status read) const {
    if (read) {
      return read;
    }
    return BadInput(fmt::format(
        "{}: rank {}: {}: a value of another type or size than docs/run_format.md says; "
        "restore the file from a copy",
        path, rank, read.error().message));
  }
};

}  // namespace reprise
