#include "report/run/rank_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "core/sqlite/database.h"
#include "report/run/rank_tables.h"
#include "report/run/row_columns.h"
#include "report/run/schema_check.h"
#include "report/run/table_rows.h"

namespace reprise {
namespace {

Result<std::set<std::string, std::less<>>> TablesOf(Database& database) {
  REPRISE_ASSIGN(Statement select,
                 database.Prepare("SELECT name FROM sqlite_master WHERE type='table'"));
  std::set<std::string, std::less<>> names;
  for (;;) {
    REPRISE_ASSIGN(const bool more, select.Next());
    if (!more) {
      return names;
    }
    names.emplace(select.View(0));
  }
}

Status ReadCollectives(const RankTables& tables, RankData& data) {
  if (tables.content != RankContent::kOutline) {
    REPRISE_TRY(tables.Read(data.collectives));
  }
  for (const CollectiveInfo& one : data.collectives) {
    if (one.group_size < 1) {
      return BadInput(fmt::format(
          "{}: rank {}: the transfer of node {} has a group of {} members; restore the file from a "
          "copy",
          tables.path, tables.rank, one.node_id, one.group_size));
    }
  }
  return {};
}

Status ReadOtherTables(const RankTables& tables, RankData& data) {
  if (tables.content == RankContent::kWhole) {
    REPRISE_TRY(tables.Read(data.edges));
  }
  if (tables.content == RankContent::kWhole || tables.content == RankContent::kOperations) {
    REPRISE_TRY(tables.Read(data.joules));
  }
  REPRISE_TRY(tables.Read(data.steps));
  if (tables.content != RankContent::kTransfers) {
    REPRISE_TRY(tables.Read(data.devices));
    REPRISE_TRY(tables.Read(data.meters));
    REPRISE_TRY(tables.Read(data.metrics));
    REPRISE_TRY(tables.Read(data.samples));
  }
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

IdSet TransferNodes(const RankData& data) {
  std::vector<std::uint64_t> ids;
  ids.reserve(data.collectives.size());
  for (const CollectiveInfo& one : data.collectives) {
    ids.push_back(one.node_id);
  }
  return IdSet(std::move(ids));
}

}  // namespace

Result<RankData> ReadRankFile(const std::string& directory, int rank, RankContent content,
                              const std::string& checksum, std::vector<std::string>& notes) {
  const std::string path = RankPath(directory, rank);
  REPRISE_ASSIGN(Database database, Database::Open(path, Database::Access::kRead));
  REPRISE_TRY(CheckSchema(database, path));
  RankData data;
  data.rank = rank;
  // One snapshot, although the writer may be going on.
  REPRISE_TRY(database.Execute("BEGIN"));
  RankTables tables{database, path, rank, content, true};
  REPRISE_ASSIGN(tables.names, TablesOf(database));
  const std::optional<RowColumns> columns =
      content == RankContent::kOutline ? std::nullopt : RowColumns::Read(directory, rank, checksum);
  tables.columns = columns ? &*columns : nullptr;
  REPRISE_TRY(ReadCollectives(tables, data));
  if (columns) {
    tables.transfers = TransferNodes(data);
  }
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
  REPRISE_TRY(ReadCollectives(tables, data));
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

Result<std::vector<RankData>> ReadMergedSteps(const std::string& directory) {
  const std::string path = MergedPath(directory);
  REPRISE_ASSIGN(Database database, Database::Open(path, Database::Access::kRead));
  REPRISE_TRY(CheckSchema(database, path));
  REPRISE_ASSIGN(Statement select,
                 database.Prepare(fmt::format("SELECT {}, rank FROM {} ORDER BY rank",
                                              SelectedColumns<StepRecord>(),
                                              TableName(static_cast<StepRecord*>(nullptr)))));
  std::vector<RankData> ranks;
  for (;;) {
    REPRISE_ASSIGN(const bool more, select.Next());
    if (!more) {
      return ranks;
    }
    StepRecord step;
    if (!ReadColumns(select, ColumnPart::kAll, step)) {
      return BadInput(path +
                      ": table steps: a value of another type or size than "
                      "docs/run_format.md says");
    }
    const auto rank = static_cast<std::int32_t>(select.Int(static_cast<int>(kColumns<StepRecord>)));
    if (ranks.empty() || ranks.back().rank != rank) {
      ranks.emplace_back().rank = rank;
    }
    ranks.back().steps.push_back(step);
  }
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
