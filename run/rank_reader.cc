#include "run/rank_reader.h"

#include <fmt/format.h>

#include <filesystem>

#include "run/database.h"
#include "run/rows.h"
#include "run/schema.h"

namespace reprise {
namespace {

constexpr std::int64_t kFirstSchemaWithPhases = 4;
constexpr std::int64_t kFirstSchemaWithTracing = 5;
constexpr std::int64_t kFirstSchemaWithShapes = 6;
constexpr std::int64_t kFirstSchemaWithSources = 7;

NodeInfo ToNode(const Statement& row) {
  NodeInfo node;
  node.node_id = static_cast<std::uint64_t>(row.Int(0));
  node.name = row.Text(1);
  node.op_class = ParseOpClass(row.View(2)).value_or(OpClass::kOther);
  node.kind = ParseOpKind(row.View(3)).value_or(OpKind::kWork);
  node.actor = row.Text(4);
  node.mode = ParseReplayMode(row.View(5)).value_or(ReplayMode::kSkip);
  node.kernel = row.Text(6);
  node.flops = row.Real(7);
  node.bytes = row.Real(8);
  node.step = static_cast<std::int32_t>(row.Int(9));
  node.recorded_start_ns = row.Int(10);
  node.recorded_duration_ns = row.Int(11);
  node.counts_for_coverage = row.Int(12) != 0;
  node.recorded_elapsed_ns = row.Int(13);
  node.recorded_delay_ns = row.Int(14);
  node.phase = ParsePhase(row.View(15)).value_or(Phase::kOther);
  node.recorded_tracing_ns = row.Int(16);
  node.shape = row.Text(17);
  node.work_from = ParseWorkSource(row.View(18)).value_or(WorkSource::kNone);
  node.capped = row.Int(19) != 0;
  return node;
}
constexpr std::string_view kNodeColumns =
    "node_id, name, class, kind, actor, mode, kernel, flops, bytes, step, recorded_start_ns,"
    " recorded_duration_ns, counts_for_coverage, ";

// Schema 1 has neither of these two; phases came with schema 4, tracing with 5, shapes with 6,
// where the work is known from with 7.
std::string NodeColumns(std::int64_t version) {
  return std::string(kNodeColumns) +
         (version >= 2 ? "recorded_elapsed_ns, recorded_delay_ns"
                       : fmt::format("{0}, {0}", NodeInfo::kUnknownNs)) +
         (version >= kFirstSchemaWithPhases ? ", phase" : ", ''") +
         (version >= kFirstSchemaWithTracing ? ", recorded_tracing_ns" : ", 0") +
         (version >= kFirstSchemaWithShapes ? ", shape" : ", ''") +
         (version >= kFirstSchemaWithSources ? ", work_from, capped" : ", '', 0");
}

NodeRecord ToRecord(const Statement& row) {
  return {.node_id = static_cast<std::uint64_t>(row.Int(0)),
          .iteration = static_cast<std::int32_t>(row.Int(1)),
          .step = static_cast<std::int32_t>(row.Int(2)),
          .mode = ParseReplayMode(row.View(3)).value_or(ReplayMode::kSkip),
          .start_ns = row.Int(4),
          .duration_ns = row.Int(5)};
}
constexpr std::string_view kRecordColumns = "node_id, iteration, step, mode, start_ns, duration_ns";

StepRecord ToStep(const Statement& row) {
  return {.iteration = static_cast<std::int32_t>(row.Int(0)),
          .warmup = row.Int(1) != 0,
          .step = static_cast<std::int32_t>(row.Int(2)),
          .start_ns = row.Int(3),
          .duration_ns = row.Int(4)};
}

EdgeInfo ToEdge(const Statement& row) {
  return {.from = static_cast<std::uint64_t>(row.Int(0)),
          .to = static_cast<std::uint64_t>(row.Int(1)),
          .reason = row.Text(2),
          .inferred = row.Int(3) != 0};
}

CollectiveInfo ToCollective(const Statement& row) {
  CollectiveInfo info;
  info.node_id = static_cast<std::uint64_t>(row.Int(0));
  CommSpec& spec = info.spec;
  spec.kind = ParseCommKind(row.View(1)).value_or(CommKind::kBarrier);
  spec.group = row.Text(2);
  spec.certainty = ParseCertaintyText(row.View(3));
  spec.index = row.Int(4);
  spec.sequence = row.Int(5);
  spec.dtype = ParseDType(row.View(6));
  spec.in_bytes = row.Int(7);
  spec.out_bytes = row.Int(8);
  spec.in_splits = ParseSplits(row.Text(9));
  spec.out_splits = ParseSplits(row.Text(10));
  spec.root = static_cast<std::int32_t>(row.Int(11));
  spec.peer = static_cast<std::int32_t>(row.Int(12));
  spec.tag = static_cast<std::int32_t>(row.Int(13));
  spec.op = ParseReduceOp(row.View(14)).value_or(ReduceOp::kSum);
  spec.op_recorded = row.Int(15) != 0;
  spec.async = row.Int(16) != 0;
  info.group_size = static_cast<std::int32_t>(row.Int(17));
  return info;
}
constexpr std::string_view kCollectiveColumns =
    "node_id, name, process_group, certainty, position, sequence, dtype, in_bytes, out_bytes,"
    " in_splits, out_splits, root, peer, tag, reduce_op, op_recorded, async, group_size";

RunDevice ToDevice(const Statement& row) {
  return {.device = row.Text(0),
          .backend = row.Text(1),
          .name = row.Text(2),
          .vendor = row.Text(3),
          .driver = row.Text(4),
          .compute_units = static_cast<std::int32_t>(row.Int(5)),
          .memory_bytes = row.Int(6),
          .uuid = row.Text(7),
          .pci_bus_id = row.Text(8)};
}
std::string DeviceColumns(std::int64_t version) {
  return std::string("device, backend, name, vendor, driver, compute_units, memory_bytes") +
         (version >= 3 ? ", uuid, pci_bus_id" : ", '', ''");
}

MeteredDevice ToMeter(const Statement& row) {
  return {.device = row.Text(0),
          .source = row.Text(1),
          .name = row.Text(2),
          .uuid = row.Text(3),
          .pci_bus_id = row.Text(4)};
}

Metric ToMetric(const Statement& row) {
  return {.id = static_cast<std::int32_t>(row.Int(0)),
          .name = row.Text(1),
          .unit = row.Text(2),
          .device = row.Text(3),
          .source = row.Text(4),
          .kind = ParseMetricKind(row.View(5)).value_or(MetricKind::kGauge),
          .modelled = row.Int(6) != 0,
          .states = row.Text(7),
          .help = row.Text(8),
          .period_ns = row.Int(9)};
}
// Schemas 1 and 2 only tell growing totals from the rest.
std::string MetricColumns(std::int64_t version) {
  return std::string("metric, name, unit, device, source, ") +
         (version >= 3 ? "kind, modelled, states, help, period_ns"
                       : "CASE WHEN NOT is_counter THEN 'gauge' WHEN unit = 'joules' THEN 'energy'"
                         " ELSE 'counter' END, modelled, '', '', 0");
}

Sample ToSample(const Statement& row) {
  return {
      .metric = static_cast<std::int32_t>(row.Int(0)), .time_ns = row.Int(1), .value = row.Real(2)};
}

std::pair<std::string, std::string> ToFact(const Statement& row) {
  return {row.Text(0), ShownLines(row.View(1))};
}

// The tables of a file, and whose rows of them are wanted.
struct RankTables {
  Database& database;
  int rank = 0;
  RankContent content = RankContent::kWhole;
  bool own_file = false;  // it has no other rank's rows

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

  // All rows of the rank, in the order they were written.
  template <typename Row>
  [[nodiscard]] Status Read(std::string_view table, std::string_view columns,
                            Row (*convert)(const Statement&), std::vector<Row>& rows) const {
    return ReadWhere("", table, columns, convert, rows);
  }
  // Likewise, of a table of nodes or of their records: those that `content` wants.
  template <typename Row>
  [[nodiscard]] Status ReadOfNodes(std::string_view table, std::string_view columns,
                                   Row (*convert)(const Statement&), std::vector<Row>& rows) const {
    const std::string transfers =
        fmt::format(" AND node_id IN (SELECT node_id FROM collectives WHERE rank={})", rank);
    return ReadWhere(content == RankContent::kOutline ? transfers : "", table, columns, convert,
                     rows);
  }

 private:
  template <typename Row>
  [[nodiscard]] Status ReadWhere(const std::string& condition, std::string_view table,
                                 std::string_view columns, Row (*convert)(const Statement&),
                                 std::vector<Row>& rows) const {
    REPRISE_ASSIGN(const std::size_t count, Count(table));
    rows.reserve(count);
    REPRISE_ASSIGN(Statement select,
                   database.Prepare(fmt::format("SELECT {} FROM {} WHERE rank={}{} ORDER BY rowid",
                                                columns, table, rank, condition)));
    for (;;) {
      REPRISE_ASSIGN(const bool more, select.Next());
      if (!more) {
        return {};
      }
      rows.push_back(convert(select));
    }
  }
};

Status ReadSharedTables(const RankTables& tables, std::int64_t version, RankData& data) {
  if (tables.content == RankContent::kWhole) {
    REPRISE_TRY(tables.Read("edges", "from_node, to_node, reason, inferred", ToEdge, data.edges));
  }
  REPRISE_TRY(tables.Read("collectives", kCollectiveColumns, ToCollective, data.collectives));
  REPRISE_TRY(
      tables.Read("steps", "iteration, warmup, step, start_ns, duration_ns", ToStep, data.steps));
  REPRISE_TRY(tables.Read("devices", DeviceColumns(version), ToDevice, data.devices));
  if (version >= 3) {
    REPRISE_TRY(
        tables.Read("meters", "device, source, name, uuid, pci_bus_id", ToMeter, data.meters));
  }
  REPRISE_TRY(tables.Read("metrics", MetricColumns(version), ToMetric, data.metrics));
  REPRISE_TRY(tables.Read("samples", "metric, time_ns, value", ToSample, data.samples));
  std::vector<std::pair<std::string, std::string>> facts;
  REPRISE_TRY(tables.Read("facts", "name, value", ToFact, facts));
  data.facts.insert(facts.begin(), facts.end());
  REPRISE_ASSIGN(Statement ranks,
                 tables.database.Prepare(
                     fmt::format("SELECT host, closed FROM ranks WHERE rank={}", tables.rank)));
  REPRISE_ASSIGN(const bool found, ranks.Next());
  if (found) {
    data.host = ranks.Text(0);
    data.closed = ranks.Int(1) != 0;
  }
  return {};
}

Result<std::int64_t> CheckVersion(Database& database, const std::string& path) {
  REPRISE_ASSIGN(Statement select, database.Prepare("PRAGMA user_version"));
  REPRISE_ASSIGN(const bool found, select.Next());
  const std::int64_t version = found ? select.Int(0) : 0;
  if (version == 0) {
    return BadInput(path + ": not written by reprise (no schema version in it)");
  }
  if (version > kRunSchemaVersion) {
    return BadInput(fmt::format("{}: schema version {}, this program reads up to {}", path, version,
                                kRunSchemaVersion));
  }
  return version;
}

}  // namespace

Result<RankData> ReadRankFile(const std::string& directory, int rank, RankContent content,
                              std::vector<std::string>& notes) {
  const std::string path = RankPath(directory, rank);
  REPRISE_ASSIGN(Database database, Database::Open(path, Database::Access::kRead));
  REPRISE_ASSIGN(const std::int64_t version, CheckVersion(database, path));
  RankData data;
  data.rank = rank;
  // One snapshot, although the writer may be going on.
  REPRISE_TRY(database.Execute("BEGIN"));
  const RankTables tables{database, rank, content, true};
  REPRISE_TRY(tables.ReadOfNodes("node_info", NodeColumns(version), ToNode, data.nodes));
  REPRISE_TRY(tables.ReadOfNodes("records", kRecordColumns, ToRecord, data.records));
  REPRISE_TRY(ReadSharedTables(tables, version, data));
  if (database.log_ignored()) {
    notes.push_back(
        fmt::format("rank {}: {} is read without its write-ahead log, because the "
                    "directory is read-only: its last records may be missing",
                    rank, path));
  }
  if (version < kFirstSchemaWithPhases) {
    notes.push_back(
        fmt::format("written by an earlier version (schema {}), which did not tell "
                    "phases: all operations are in phase \"other\"",
                    version));
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
  REPRISE_ASSIGN(const std::int64_t version, CheckVersion(database, path));
  RankData data;
  data.rank = rank;
  const RankTables tables{database, rank, content, false};
  REPRISE_TRY(tables.ReadOfNodes("nodes", NodeColumns(version), ToNode, data.nodes));
  REPRISE_TRY(ReadSharedTables(tables, version, data));
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
      "(SELECT *, rowid FROM nodes WHERE replayed_duration_ns IS NOT NULL)",
      fmt::format("node_id, {}, step, mode, replayed_start_ns + {}, replayed_duration_ns",
                  iteration, base_ns),
      ToRecord, data.records));
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
