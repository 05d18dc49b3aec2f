#include "report/run/rank_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "report/run/database.h"
#include "report/run/table_rows.h"
#include "report/run/table_scan.h"

namespace reprise {
namespace {

// Ids of nodes, to be asked often.
class NodeIds {
 public:
  explicit NodeIds(const std::vector<CollectiveInfo>& transfers) {
    for (const CollectiveInfo& transfer : transfers) {
      sorted_.push_back(transfer.node_id);
    }
    std::ranges::sort(sorted_);
    // Ids are mostly without large holes.
    constexpr std::uint64_t kMaxBitsPerId = 512;
    if (!sorted_.empty() && sorted_.back() - sorted_.front() < kMaxBitsPerId * sorted_.size()) {
      bits_.resize(sorted_.back() - sorted_.front() + 1);
      for (const std::uint64_t id : sorted_) {
        bits_[id - sorted_.front()] = true;
      }
    }
  }
  [[nodiscard]] bool Has(std::uint64_t id) const {
    if (bits_.empty()) {
      return std::ranges::binary_search(sorted_, id);
    }
    const std::uint64_t place = id - sorted_.front();  // of a smaller id: beyond the bits
    return place < bits_.size() && bits_[place];
  }

 private:
  std::vector<std::uint64_t> sorted_;
  std::vector<bool> bits_;  // from the least id on; empty: look among the sorted ones
};

// The tables of a file, and whose rows of them are wanted.
struct RankTables {
  Database& database;
  const std::string& path;
  int rank = 0;
  bool own_file = false;  // it has no other rank's rows

  // All rows of the rank, in the order they were written. `only`: of these nodes.
  // `from`: the table, or a query in its place.
  template <typename Row>
  [[nodiscard]] Status Read(std::vector<Row>& rows, const NodeIds* only = nullptr,
                            std::string_view from = TableName(static_cast<Row*>(nullptr))) const {
    if (own_file) {
      REPRISE_TRY(MakeRoom(rows, only));
      REPRISE_ASSIGN(auto scan, TableScan::Open(database, path, from, FileColumns<Row>()));
      if (scan) {
        return ReadFrom(*scan, only, rows);
      }
    }
    REPRISE_ASSIGN(Statement select,
                   database.Prepare(fmt::format("SELECT {} FROM {} WHERE rank={} ORDER BY rowid",
                                                SelectedColumns<Row>(), from, rank)));
    return ReadFrom(select, only, rows);
  }

 private:
  [[nodiscard]] bool IsOfRank(const Statement& /*select*/) const { return true; }
  [[nodiscard]] bool IsOfRank(const TableScan& scan) const { return scan.First() == rank; }

  template <typename Row, typename Source>
  [[nodiscard]] Status ReadFrom(Source& source, const NodeIds* only, std::vector<Row>& rows) const {
    for (;;) {
      REPRISE_ASSIGN(const bool more, source.Next());
      if (!more) {
        return {};
      }
      if constexpr (requires(Row row) { row.node_id; }) {  // the first column
        if (only != nullptr && !only->Has(static_cast<std::uint64_t>(source.Int(0)))) {
          continue;
        }
      }
      if (!IsOfRank(source)) {
        continue;
      }
      Result<Row> row = ReadRow<Row>(source);
      if (!row) {
        return BadInput(
            fmt::format("{}: rank {}: {}: a value of another type or size than docs/run_format.md "
                        "says; restore "
                        "the file from a copy",
                        path, rank, row.error().message));
      }
      rows.push_back(std::move(*row));
    }
  }

  // Vectors that grow would take twice the memory at times. Rows are numbered as they are written.
  template <typename Row>
  [[nodiscard]] Status MakeRoom(std::vector<Row>& rows, const NodeIds* only) const {
    if (only != nullptr) {
      return {};
    }
    REPRISE_ASSIGN(Statement select,
                   database.Prepare(fmt::format("SELECT max(rowid) FROM {}",
                                                TableName(static_cast<Row*>(nullptr)))));
    REPRISE_ASSIGN(const bool found, select.Next());
    const std::int64_t last = found ? select.Int(0) : 0;
    std::error_code error;
    const std::uintmax_t bytes = std::filesystem::file_size(path, error);
    if (!error && last > 0) {  // a row has at least a byte for each column
      rows.reserve(std::min<std::uintmax_t>(static_cast<std::uintmax_t>(last),
                                            bytes / FileColumns<Row>().size()));
    }
    return {};
  }
};

Status ReadTransfers(const RankTables& tables, RankData& data) {
  REPRISE_TRY(tables.Read(data.collectives));
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

Status ReadSmallTables(const RankTables& tables, RankData& data) {
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

// Of an outline those of transfers.
std::optional<NodeIds> WantedNodes(RankContent content, const RankData& data) {
  return content == RankContent::kOutline ? std::optional<NodeIds>(data.collectives) : std::nullopt;
}

Status CheckVersion(Database& database, const std::string& path) {
  REPRISE_ASSIGN(Statement select, database.Prepare("PRAGMA user_version"));
  REPRISE_ASSIGN(const bool found, select.Next());
  const std::int64_t version = found ? select.Int(0) : 0;
  if (version == 0) {
    return BadInput(path + ": not written by reprise (no schema version in it)");
  }
  if (version != kRunSchemaVersion) {
    return BadInput(fmt::format(
        "{}: has schema version {}, this program reads only {}: replay the trace again with "
        "this program, or read the run with the version of reprise that wrote it",
        path, version, kRunSchemaVersion));
  }
  return {};
}

}  // namespace

Result<RankData> ReadRankFile(const std::string& directory, int rank, RankContent content,
                              std::vector<std::string>& notes) {
  const std::string path = RankPath(directory, rank);
  REPRISE_ASSIGN(Database database, Database::Open(path, Database::Access::kRead));
  REPRISE_TRY(CheckVersion(database, path));
  RankData data;
  data.rank = rank;
  // One snapshot, although the writer may be going on.
  REPRISE_TRY(database.Execute("BEGIN"));
  const RankTables tables{database, path, rank, true};
  REPRISE_TRY(ReadTransfers(tables, data));
  const std::optional<NodeIds> only = WantedNodes(content, data);
  REPRISE_TRY(tables.Read(data.nodes, only ? &*only : nullptr));
  REPRISE_TRY(tables.Read(data.records, only ? &*only : nullptr));
  if (content == RankContent::kWhole) {
    REPRISE_TRY(tables.Read(data.edges));
    REPRISE_TRY(tables.Read(data.joules));
  }
  REPRISE_TRY(ReadSmallTables(tables, data));
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
  REPRISE_TRY(CheckVersion(database, path));
  RankData data;
  data.rank = rank;
  const RankTables tables{database, path, rank, false};
  REPRISE_TRY(ReadTransfers(tables, data));
  const std::optional<NodeIds> only = WantedNodes(content, data);
  REPRISE_TRY(tables.Read(data.nodes, only ? &*only : nullptr, "nodes"));
  if (content == RankContent::kWhole) {
    REPRISE_TRY(tables.Read(data.edges));
    REPRISE_TRY(tables.Read(data.joules));
  }
  REPRISE_TRY(ReadSmallTables(tables, data));
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
  REPRISE_TRY(tables.Read(
      data.records, only ? &*only : nullptr,
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
  REPRISE_TRY(CheckVersion(database, path));
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
