#include "run/schema.h"

#include <fmt/format.h>

namespace reprise {
namespace {

constexpr std::string_view kShared = R"sql(
CREATE TABLE ranks(rank INTEGER, host TEXT, device TEXT, pid INTEGER, closed INTEGER);
CREATE TABLE steps(rank INTEGER, iteration INTEGER, warmup INTEGER, step INTEGER,
                   start_ns INTEGER, duration_ns INTEGER);
CREATE TABLE edges(rank INTEGER, from_node INTEGER, to_node INTEGER, reason TEXT,
                   inferred INTEGER);
CREATE TABLE collectives(rank INTEGER, node_id INTEGER, name TEXT, process_group TEXT,
                         certainty TEXT, position INTEGER, sequence INTEGER, dtype TEXT,
                         in_bytes INTEGER, out_bytes INTEGER, in_splits TEXT, out_splits TEXT,
                         root INTEGER, peer INTEGER, tag INTEGER, reduce_op TEXT,
                         op_recorded INTEGER, async INTEGER, group_size INTEGER);
CREATE TABLE devices(rank INTEGER, device TEXT, backend TEXT, name TEXT, vendor TEXT,
                     driver TEXT, compute_units INTEGER, memory_bytes INTEGER, uuid TEXT,
                     pci_bus_id TEXT);
CREATE TABLE meters(rank INTEGER, device TEXT, source TEXT, name TEXT, uuid TEXT,
                    pci_bus_id TEXT);
CREATE TABLE metrics(rank INTEGER, metric INTEGER, name TEXT, unit TEXT, device TEXT,
                     source TEXT, kind TEXT, modelled INTEGER, states TEXT, help TEXT,
                     period_ns INTEGER);
CREATE TABLE samples(rank INTEGER, metric INTEGER, time_ns INTEGER, value REAL);
CREATE TABLE facts(rank INTEGER, name TEXT, value TEXT, PRIMARY KEY(rank, name));
)sql";

constexpr std::string_view kNodeTableSql = R"sql(
  rank INTEGER, node_id INTEGER, name TEXT, class TEXT, kind TEXT, actor TEXT, mode TEXT,
  kernel TEXT, flops REAL, bytes REAL, step INTEGER, recorded_start_ns INTEGER,
  recorded_duration_ns INTEGER, counts_for_coverage INTEGER, recorded_elapsed_ns INTEGER,
  recorded_delay_ns INTEGER, phase TEXT, recorded_tracing_ns INTEGER, shape TEXT,
  work_from TEXT, capped INTEGER)sql";

// Medians over the iterations that are finished and not warm-up. A replayed start counts from the
// iteration's start, as a recorded start counts from the trace's base.
constexpr std::string_view kNodesView = R"sql(
CREATE VIEW nodes AS
WITH base AS (
  SELECT iteration, min(start_ns) AS start_ns FROM steps WHERE NOT warmup GROUP BY iteration),
ordered AS (
  SELECT r.node_id AS node_id, r.duration_ns AS duration_ns,
         r.start_ns - base.start_ns AS start_ns,
         row_number() OVER (PARTITION BY r.node_id ORDER BY r.duration_ns) AS by_duration,
         row_number() OVER (PARTITION BY r.node_id ORDER BY r.start_ns - base.start_ns) AS by_start,
         count(*) OVER (PARTITION BY r.node_id) AS n
  FROM records r JOIN base USING (iteration)),
medians AS (
  SELECT node_id,
         cast(avg(CASE WHEN by_start IN ((n + 1) / 2, (n + 2) / 2) THEN start_ns END)
              AS INTEGER) AS start_ns,
         cast(avg(CASE WHEN by_duration IN ((n + 1) / 2, (n + 2) / 2) THEN duration_ns END)
              AS INTEGER) AS duration_ns
  FROM ordered GROUP BY node_id)
SELECT i.*, m.start_ns AS replayed_start_ns, m.duration_ns AS replayed_duration_ns
FROM node_info i LEFT JOIN medians m USING (node_id);
)sql";

}  // namespace

std::string RankSchema() {
  return fmt::format(
      "PRAGMA user_version={};{}CREATE TABLE node_info({});"
      "CREATE TABLE records(rank INTEGER, node_id INTEGER, iteration INTEGER, step INTEGER,"
      " mode TEXT, start_ns INTEGER, duration_ns INTEGER);{}",
      kRunSchemaVersion, kShared, kNodeTableSql, kNodesView);
}

std::string MergedSchema() {
  return fmt::format(
      "PRAGMA user_version={};{}CREATE TABLE nodes({}, replayed_start_ns INTEGER,"
      " replayed_duration_ns INTEGER);",
      kRunSchemaVersion, kShared, kNodeTableSql);
}

std::string ManifestPath(const std::string& directory) { return directory + "/manifest.json"; }
std::string RankPath(const std::string& directory, int rank) {
  return fmt::format("{}/rank{}.sqlite", directory, rank);
}
std::string MergedPath(const std::string& directory) { return directory + "/run.sqlite"; }

}  // namespace reprise
