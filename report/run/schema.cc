#include "report/run/schema.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"

namespace reprise {
namespace {

std::string_view SqlType(ColumnType type) {
  switch (type) {
    case ColumnType::kText:
    case ColumnType::kLines:
      return "TEXT";
    case ColumnType::kReal:
      return "REAL";
    default:
      return "INTEGER";
  }
}

// ", name TEXT, …"
std::string Definition(const RunColumn& column) {
  return fmt::format(", {} {}", column.name, SqlType(column.type));
}

// "rank INTEGER, name TEXT, …"
std::string Definitions(const RunTable& table) {
  std::string sql = "rank INTEGER";
  for (const RunColumn& column : table.columns) {
    sql += Definition(column);
  }
  return sql;
}

std::string CreateTable(const RunTable& table) {
  const std::string unique =
      table.unique.empty() ? "" : fmt::format(", PRIMARY KEY(rank, {})", table.unique);
  return fmt::format("CREATE TABLE {}({}{});", table.name, Definitions(table), unique);
}

// Rows in the order in which they were written: the other tables are looked up by key.
std::string CreateSharedView(const RunTable& table, bool parts) {
  std::string columns = "s.rank AS rank";
  for (const RunColumn& column : table.columns) {
    const std::string own = parts ? MovedColumn(column.name) : fmt::format("r.{}", column.name);
    columns += fmt::format(", {} AS {}", column.shared ? fmt::format("s.{}", column.name) : own,
                           column.name);
  }
  return fmt::format("CREATE VIEW {} AS SELECT {} FROM {} CROSS JOIN {} s ON s.shared = r.shared",
                     table.name, columns,
                     parts ? FromParts(table.name) : fmt::format("{} r", RowsOf(table.name)),
                     SharedOf(table.name));
}

std::string CreateSharedAndRows(const RunTable& table) {
  std::string shared = "shared INTEGER PRIMARY KEY, rank INTEGER";
  std::string rows = "shared INTEGER";
  for (const RunColumn& column : table.columns) {
    (column.shared ? shared : rows) += Definition(column);
  }
  return fmt::format(
      "CREATE TABLE {}({});CREATE TABLE {}({});"
      "CREATE TABLE {}(first INTEGER, last INTEGER, back INTEGER, repetition INTEGER);{};",
      SharedOf(table.name), shared, RowsOf(table.name), rows, PartsOf(table.name),
      CreateSharedView(table, true));
}

// The table whose rows, with their medians, are `nodes`.
const RunTable& NodeTable() {
  return *std::ranges::find_if(RunTables(),
                               [](const RunTable& table) { return !table.medians.empty(); });
}

// "name, name, …": `rank` and the columns of a table.
std::string ColumnNames(const RunTable& table) {
  std::string names = "rank";
  for (const RunColumn& column : table.columns) {
    names += fmt::format(", {}", column.name);
  }
  return names;
}

std::string Version() { return fmt::format("PRAGMA user_version={};", kRunSchemaVersion); }

// Medians over the iterations that are finished and not warm-up.
constexpr std::string_view kNodesView =
#include "report/run/nodes_view.def"
    ;

std::optional<std::int32_t> RankOf(std::string_view name, std::string_view suffix) {
  constexpr std::string_view kPrefix = "rank";
  if (!name.starts_with(kPrefix) || !name.ends_with(suffix)) {
    return std::nullopt;
  }
  name.remove_prefix(kPrefix.size());
  name.remove_suffix(suffix.size());
  return IsNumber(name) ? ParseNumber<std::int32_t>(name) : std::nullopt;
}

}  // namespace

const std::vector<RunTable>& RunTables() {
  static const std::vector<RunTable> all = [] {
    std::vector<RunTable> tables;
#define REPRISE_TABLE(table, Struct, where) \
  tables.push_back({.name = #table, .place = TablePlace::where});
#define REPRISE_COLUMN(column, type, member) \
  tables.back().columns.push_back({#column, ColumnType::k##type});
#define REPRISE_SHARED(column, type, member) \
  tables.back().columns.push_back({#column, ColumnType::k##type, true});
#define REPRISE_MEDIAN(column, type) \
  tables.back().medians.push_back({#column, ColumnType::k##type});
#define REPRISE_UNIQUE(column) tables.back().unique = #column;
#include "report/run/schema.def"
    return tables;
  }();
  return all;
}

bool RunTable::HasShared() const { return std::ranges::any_of(columns, &RunColumn::shared); }

std::string SharedOf(std::string_view table) { return fmt::format("{}_shared", table); }
std::string RowsOf(std::string_view table) { return fmt::format("{}_rows", table); }
std::string PartsOf(std::string_view table) { return fmt::format("{}_parts", table); }
std::string FromParts(std::string_view table) {
  return fmt::format(
      "{0} p CROSS JOIN {1} r ON r.rowid BETWEEN p.first AND p.last"
      " CROSS JOIN {1} b ON b.rowid = r.rowid - p.back",
      PartsOf(table), RowsOf(table));
}
std::string MovedColumn(std::string_view column) {
  return fmt::format("r.{0} + p.repetition * (r.{0} - b.{0})", column);
}

std::string RankSchema() {
  std::string sql = Version();
  for (const RunTable& table : RunTables()) {
    sql += table.HasShared() ? CreateSharedAndRows(table) : CreateTable(table);
  }
  return sql + std::string(kNodesView) + ";";
}

std::vector<std::string> RankViews() {
  std::vector<std::string> views = {std::string(kNodesView)};
  for (const RunTable& table : RunTables()) {
    if (table.HasShared()) {
      views.push_back(CreateSharedView(table, true));
      views.push_back(CreateSharedView(table, false));
    }
  }
  return views;
}

std::string MergedSchema() {
  std::string sql = Version();
  for (const RunTable& table : RunTables()) {
    if (table.place != TablePlace::kOwnFile) {
      sql += CreateTable(table);
    }
  }
  sql += fmt::format("CREATE TABLE nodes({}", Definitions(NodeTable()));
  for (const RunColumn& median : NodeTable().medians) {
    sql += fmt::format(", {} {}", median.name, SqlType(median.type));
  }
  return sql + ");";
}

std::string MergeSql(bool in_full) {
  const auto copy = [](std::string_view table, const std::string& columns) {
    return fmt::format("INSERT INTO main.{0}({1}) SELECT {1} FROM part.{0};", table, columns);
  };
  std::string sql;
  if (in_full) {
    std::string columns = ColumnNames(NodeTable());
    for (const RunColumn& median : NodeTable().medians) {
      columns += fmt::format(", {}", median.name);
    }
    sql = copy("nodes", columns);
  }
  for (const RunTable& table : RunTables()) {
    if (table.place == TablePlace::kFew || (in_full && table.place == TablePlace::kAll)) {
      sql += copy(table.name, ColumnNames(table));
    }
  }
  return sql;
}

std::string ManifestPath(const std::string& directory) { return directory + "/manifest.json"; }
std::string RankPath(const std::string& directory, int rank) {
  return fmt::format("{}/rank{}.sqlite", directory, rank);
}
std::string ColumnsPath(const std::string& directory, int rank) {
  return fmt::format("{}/rank{}.columns", directory, rank);
}
std::optional<std::int32_t> RankOfColumns(std::string_view name) {
  return RankOf(name, ".columns");
}
std::string SumsPath(const std::string& directory, int rank) {
  return fmt::format("{}/rank{}.sums", directory, rank);
}
std::optional<std::int32_t> RankOfSums(std::string_view name) { return RankOf(name, ".sums"); }
std::string MergedPath(const std::string& directory) { return directory + "/run.sqlite"; }

}  // namespace reprise
