#include "run/rows.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>

namespace reprise {
namespace {

// "INSERT INTO t VALUES(?,?,?)": parameters in the order of the schema's columns.
std::string Insert(std::string_view table, int columns) {
  std::string sql = fmt::format("INSERT OR REPLACE INTO {} VALUES(", table);
  for (int i = 0; i < columns; ++i) {
    sql += i == 0 ? "?" : ",?";
  }
  return sql + ")";
}

}  // namespace

std::string InsertSql(const NodeInfo& /*row*/) { return Insert("node_info", 21); }
std::string InsertSql(const EdgeInfo& /*row*/) { return Insert("edges", 5); }
std::string InsertSql(const CollectiveInfo& /*row*/) { return Insert("collectives", 19); }
std::string InsertSql(const Metric& /*row*/) { return Insert("metrics", 11); }
std::string InsertSql(const NodeRecord& /*row*/) { return Insert("records", 7); }
std::string InsertSql(const StepRecord& /*row*/) { return Insert("steps", 6); }
std::string InsertSql(const Sample& /*row*/) { return Insert("samples", 4); }
std::string InsertSql(const RunDevice& /*row*/) { return Insert("devices", 10); }
std::string InsertSql(const MeteredDevice& /*row*/) { return Insert("meters", 6); }
std::string InsertSql(const std::pair<std::string, std::string>& /*fact*/) {
  return Insert("facts", 3);
}

Status InsertRow(Statement& insert, int rank, const NodeInfo& row) {
  return insert.Run(rank, row.node_id, row.name, Name(row.op_class), Name(row.kind), row.actor,
                    Name(row.mode), row.kernel, row.flops, row.bytes, row.step,
                    row.recorded_start_ns, row.recorded_duration_ns, row.counts_for_coverage,
                    row.recorded_elapsed_ns, row.recorded_delay_ns, Name(row.phase),
                    row.recorded_tracing_ns, row.shape, Name(row.work_from), row.capped);
}

Status InsertRow(Statement& insert, int rank, const EdgeInfo& row) {
  return insert.Run(rank, row.from, row.to, row.reason, row.inferred);
}

Status InsertRow(Statement& insert, int rank, const CollectiveInfo& row) {
  const CommSpec& spec = row.spec;
  return insert.Run(rank, row.node_id, Name(spec.kind), spec.group, CertaintyText(spec.certainty),
                    spec.index, spec.sequence, Name(spec.dtype), spec.in_bytes, spec.out_bytes,
                    SplitsText(spec.in_splits), SplitsText(spec.out_splits), spec.root, spec.peer,
                    spec.tag, Name(spec.op), spec.op_recorded, spec.async, row.group_size);
}

Status InsertRow(Statement& insert, int rank, const Metric& row) {
  return insert.Run(rank, row.id, row.name, row.unit, row.device, row.source, Name(row.kind),
                    row.modelled, row.states, row.help, row.period_ns);
}

Status InsertRow(Statement& insert, int rank, const NodeRecord& row) {
  return insert.Run(rank, row.node_id, row.iteration, row.step, Name(row.mode), row.start_ns,
                    row.duration_ns);
}

Status InsertRow(Statement& insert, int rank, const StepRecord& row) {
  return insert.Run(rank, row.iteration, row.warmup, row.step, row.start_ns, row.duration_ns);
}

Status InsertRow(Statement& insert, int rank, const Sample& row) {
  return insert.Run(rank, row.metric, row.time_ns, row.value);
}

Status InsertRow(Statement& insert, int rank, const RunDevice& row) {
  return insert.Run(rank, row.device, row.backend, row.name, row.vendor, row.driver,
                    row.compute_units, row.memory_bytes, row.uuid, row.pci_bus_id);
}

Status InsertRow(Statement& insert, int rank, const MeteredDevice& row) {
  return insert.Run(rank, row.device, row.source, row.name, row.uuid, row.pci_bus_id);
}

Status InsertRow(Statement& insert, int rank, const std::pair<std::string, std::string>& fact) {
  return insert.Run(rank, fact.first, fact.second);
}

std::string SplitsText(const std::vector<std::int64_t>& splits) {
  return fmt::format("[{}]", fmt::join(splits, ","));
}

std::vector<std::int64_t> ParseSplits(const std::string& text) {
  std::vector<std::int64_t> splits;
  const char* at = text.c_str() + (text.empty() ? 0 : 1);
  for (char* end = nullptr; *at != '\0' && *at != ']'; at = *end == ',' ? end + 1 : end) {
    splits.push_back(std::strtoll(at, &end, 10));
    if (end == at) {
      splits.pop_back();
      break;
    }
  }
  return splits;
}

std::string_view CertaintyText(GroupCertainty certainty) {
  switch (certainty) {
    case GroupCertainty::kRecorded:
      return "recorded";
    case GroupCertainty::kInferred:
      return "inferred";
    default:
      return "unknown";
  }
}

GroupCertainty ParseCertaintyText(std::string_view text) {
  return text == "recorded"   ? GroupCertainty::kRecorded
         : text == "inferred" ? GroupCertainty::kInferred
                              : GroupCertainty::kUnknown;
}

}  // namespace reprise
