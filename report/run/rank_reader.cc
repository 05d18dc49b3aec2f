#include "report/run/rank_reader.h"

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

#include "report/run/database.h"
#include "report/run/schema_check.h"
#include "report/run/table_rows.h"

namespace reprise {
namespace {

// The tables of a file, and whose rows of them are wanted.
struct RankTables {
  Database& database;
  const std::string& path;
  int rank = 0;
  RankContent content = RankContent::kWhole;
  bool own_file = false;      // it has no other rank's rows
  bool shared_apart = false;  // shared columns are in tables of their own

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
    const std::string transfers =
        shared_apart
            ? fmt::format(" AND node_id IN (SELECT node_id FROM {})",
                          RowsOf(TableName(static_cast<CollectiveInfo*>(nullptr))))
            : fmt::format(" AND node_id IN (SELECT node_id FROM collectives WHERE rank={})", rank);
    return ReadThat(content == RankContent::kOutline ? transfers : "", from, rows);
  }

 private:
  // How many rows to make room for: vectors that grow would take twice the memory at times.
  [[nodiscard]] Result<std::size_t> Count(std::string_view table) const {
    if (!own_file || content == RankContent::kOutline) {
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
      if (shared_apart) {
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
    std::vector<std::optional<Row>> shared;  // by number; nothing: another rank's
    REPRISE_TRY(ReadShared(table, shared));
    REPRISE_ASSIGN(const std::size_t count, Count(RowsOf(table)));
    rows.reserve(count);
    REPRISE_ASSIGN(Statement select,
                   database.Prepare(fmt::format(
                       "SELECT {}, shared FROM {} WHERE 1{} ORDER BY rowid",
                       SelectedColumns<Row>(ColumnPart::kOwn), RowsOf(table), condition)));
    const int last = static_cast<int>(kOwnColumns<Row>);
    for (;;) {
      REPRISE_ASSIGN(const bool more, select.Next());
      if (!more) {
        return {};
      }
      const std::int64_t number =
          select.StoredType(last) == StoredAs::kInteger ? select.Int(last) : -1;
      if (number < 1 || number > static_cast<std::int64_t>(shared.size())) {
        return Checked(BadInput(fmt::format("table {}, column shared", RowsOf(table))));
      }
      if (const std::optional<Row>& values = shared[static_cast<std::size_t>(number) - 1]) {
        REPRISE_TRY(Checked(ReadColumns(select, ColumnPart::kOwn, rows.emplace_back(*values))));
      }
    }
  }
  // They are numbered from 1.
  template <typename Row>
  [[nodiscard]] Status ReadShared(std::string_view table,
                                  std::vector<std::optional<Row>>& shared) const {
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

Status ReadOtherTables(const RankTables& tables, RankData& data) {
  if (tables.content == RankContent::kWhole) {
    REPRISE_TRY(tables.Read(data.edges));
    REPRISE_TRY(tables.Read(data.joules));
  }
  REPRISE_TRY(tables.Read(data.collectives));
  for (const CollectiveInfo& one : data.collectives) {
    if (one.group_size < 1) {
      return BadInput(fmt::format(
          "{}: rank {}: the transfer of node {} has a group of {} members; restore the file from a "
          "copy",
          tables.path, tables.rank, one.node_id, one.group_size));
    }
  }
  REPRISE_TRY(tables.Read(data.steps));
  REPRISE_TRY(tables.Read(data.devices));
  REPRISE_TRY(tables.Read(data.meters));
  REPRISE_TRY(tables.Read(data.metrics));
  REPRISE_TRY(tables.Read(data.samples));
  std::vector<RunFact> facts;
  REPRISE_TRY(tables.Read(facts));
  for (const RunFact& fact : facts) {
    if (const Status added = AddFact(fact, data.facts); !added) {
      return BadInput(fmt::format("{}: rank {}: {}; restore the file from a copy", tables.path,
                                  tables.rank, added.error().message));
    }
  }
  std::vector<RankFileRow> ranks;
  REPRISE_TRY(tables.Read(ranks));
  if (!ranks.empty()) {
    data.host = std::move(ranks.front().host);
    data.closed = ranks.front().closed;
  }
  return {};
}

}  // namespace

Result<RankData> ReadRankFile(const std::string& directory, int rank, RankContent content,
                              std::vector<std::string>& notes) {
  const std::string path = RankPath(directory, rank);
  REPRISE_ASSIGN(Database database, Database::Open(path, Database::Access::kRead));
  REPRISE_ASSIGN(const std::int64_t version, CheckSchema(database, path));
  RankData data;
  data.rank = rank;
  // One snapshot, although the writer may be going on.
  REPRISE_TRY(database.Execute("BEGIN"));
  const RankTables tables{database, path, rank, content, true, version >= kSharedColumnsSince};
  REPRISE_TRY(tables.ReadOfNodes(data.nodes));
  REPRISE_TRY(tables.ReadOfNodes(data.records));
  REPRISE_TRY(ReadOtherTables(tables, data));
  if (database.log_ignored()) {
    notes.push_back(
        fmt::format("rank {}: {} is read without its write-ahead log, because the "
                    "directory is read-only: its last records may be missing",
                    rank, path));
  }
  if (!data.closed) {
    notes.push_back(fmt::format(
        "rank {}: file was not closed (killed, or still running): up to 2 s may be missing", rank));
  }
  return data;
}

Result<RankData> ReadRankFromMerged(const std::string& directory, int rank, RankContent content) {
  const std::string path = MergedPath(directory);
  REPRISE_ASSIGN(Database database, Database::Open(path, Database::Access::kRead));
  REPRISE_TRY(CheckSchema(database, path));
  RankData data;
  data.rank = rank;
  const RankTables tables{database, path, rank, content, false};
  REPRISE_TRY(tables.ReadOfNodes(data.nodes, "nodes"));
  REPRISE_TRY(ReadOtherTables(tables, data));
  // Medians count from the iteration's start: the records go into the first that is no warm-up.
  std::int32_t iteration = 0;
  std::int64_t base_ns = 0;
  for (const StepRecord& step : data.steps) {
    if (!step.warmup) {
      iteration = step.iteration;
      base_ns = step.start_ns;
      break;
    }
  }
  REPRISE_TRY(tables.ReadOfNodes(
      data.records,
      fmt::format("(SELECT rank, node_id, {} AS iteration, step, mode, replayed_start_ns + {} AS"
                  " start_ns, replayed_duration_ns AS duration_ns, rowid FROM nodes"
                  " WHERE replayed_duration_ns IS NOT NULL)",
                  iteration, base_ns)));
  return data;
}

Result<std::vector<std::int32_t>> RanksInMerged(const std::string& directory) {
  const std::string path = MergedPath(directory);
  std::vector<std::int32_t> ranks;
  if (!std::filesystem::exists(path)) {
    return ranks;
  }
  REPRISE_ASSIGN(Database database, Database::Open(path, Database::Access::kRead));
  REPRISE_TRY(CheckSchema(database, path));
  REPRISE_ASSIGN(Statement select, database.Prepare("SELECT DISTINCT rank FROM ranks"));
  for (;;) {
    REPRISE_ASSIGN(const bool more, select.Next());
    if (!more) {
      return ranks;
    }
    ranks.push_back(static_cast<std::int32_t>(select.Int(0)));
  }
}

}  // namespace reprise
