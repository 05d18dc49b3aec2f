// The tables of a run's SQLite files, as data: report/run/schema.def lists them, docs/run_format.md
// explains them to users. report/run/table_rows.h has their rows as structs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace reprise {

// PRAGMA user_version of every file of a run. Readers refuse files before the oldest, and newer
// ones.
#define REPRISE_SCHEMA_VERSION(version) inline constexpr int kRunSchemaVersion = version;
#define REPRISE_SCHEMA_OLDEST(version) inline constexpr int kOldestRunSchema = version;
#include "report/run/schema.def"

// More ranks than this in a file are damage, not a run.
inline constexpr std::int32_t kMaxRanks = 1'000'000;

enum class ColumnType : std::uint8_t { kText, kLines, kInteger, kReal, kBoolean, kId };

struct RunColumn {
  std::string_view name;
  ColumnType type = ColumnType::kText;
  bool shared = false;  // in <table>_shared of rank<N>.sqlite
};

// Which files have a table (report/run/schema.def).
enum class TablePlace : std::uint8_t { kOwnFile, kAll, kFew };

struct RunTable {
  std::string_view name;
  TablePlace place = TablePlace::kAll;
  std::vector<RunColumn> columns = {};  // without `rank`, which comes first
  std::vector<RunColumn> medians = {};
  std::string_view unique = {};  // empty: rows repeat

  [[nodiscard]] bool HasShared() const;  // some column is shared
};
[[nodiscard]] const std::vector<RunTable>& RunTables();

// Of a table with shared columns, in rank<N>.sqlite.
[[nodiscard]] std::string SharedOf(std::string_view table);
[[nodiscard]] std::string RowsOf(std::string_view table);
// Since version 12: which rows come, in order, and how far they have moved.
[[nodiscard]] std::string PartsOf(std::string_view table);
// The rows of <table>_parts as values of FROM: `p`, the row `r`, and `b`, the same row one
// repetition before. Of a column that rows do not share: its value in that row.
[[nodiscard]] std::string FromParts(std::string_view table);
[[nodiscard]] std::string MovedColumn(std::string_view column);

// rank<N>.sqlite: all tables, and `nodes` as a view over node_info and records, right at any
// moment, also while the run continues.
[[nodiscard]] std::string RankSchema();
// The statements that make its views, as the files keep them: of this version and of earlier ones.
[[nodiscard]] std::vector<std::string> RankViews();
// run.sqlite: the tables that are not kOwnFile, `rank` column and all, so that one query serves
// both kinds of file, and `nodes` as a table.
[[nodiscard]] std::string MergedSchema();
// Copies a rank's rows from the attached database `part` to `main`; not `in_full`: tables of kFew.
[[nodiscard]] std::string MergeSql(bool in_full);

// What `reprise report` found of the run, where it keeps it (report/stored_analysis.h).
inline constexpr char kStoredAnalysisFile[] = "analysis.bin";
[[nodiscard]] std::string ManifestPath(const std::string& directory);
[[nodiscard]] std::string RankPath(const std::string& directory, int rank);
// The numbers of a rank's file (report/run/row_columns.h), and whose a file of that name has.
[[nodiscard]] std::string ColumnsPath(const std::string& directory, int rank);
[[nodiscard]] std::optional<std::int32_t> RankOfColumns(std::string_view name);
// What a rank's nodes say by themselves (report/stored_sums.h), likewise.
[[nodiscard]] std::string SumsPath(const std::string& directory, int rank);
[[nodiscard]] std::optional<std::int32_t> RankOfSums(std::string_view name);
[[nodiscard]] std::string MergedPath(const std::string& directory);

}  // namespace reprise
