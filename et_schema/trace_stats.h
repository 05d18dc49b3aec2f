// What a trace file or set holds, counted: nodes, edges, classes, transfers, groups, ranges.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/processes.h"
#include "core/result.h"
#include "et_schema/graph.h"
#include "et_schema/range_summary.h"
#include "et_schema/trace_set.h"

namespace reprise {

struct TraceStats {
  struct ClassRow {
    std::uint64_t nodes = 0;
    std::int64_t duration_ns = 0;
  };
  struct ReasonRow {
    std::uint64_t edges = 0;
    std::uint64_t inferred = 0;
  };
  struct TransferRow {
    std::uint64_t count = 0;
    std::uint64_t unmatched = 0;        // across ranks: no transfer time
    std::uint64_t of_unknown_size = 0;  // add nothing to in_bytes and out_bytes
    std::int64_t in_bytes = 0;
    std::int64_t out_bytes = 0;
    std::int64_t duration_ns = 0;
    std::int64_t transfer_ns = 0;
  };
  struct StorageRow {
    std::uint64_t nodes = 0;
    std::uint64_t of_unknown_size = 0;  // add nothing to bytes
    std::int64_t bytes = 0;             // as OperationBytes
    std::int64_t duration_ns = 0;
  };
  struct GroupRow {
    ProcessGroup group;
    std::uint64_t transfers = 0;
  };
  // The groups of one role, in folded sets.
  struct RoleRow {
    std::string description;
    std::uint64_t groups = 0, transfers = 0;  // transfers: of all their members
    std::size_t least_ranks = 0, most_ranks = 0;
  };
  struct RankRow {
    std::string file;
    std::int64_t alike = 1;  // ranks that this row stands for: those of a class, in folded sets
    TraceMetadata metadata;
    std::uint64_t nodes = 0, edges = 0;
    std::size_t memory_bytes = 0;
  };

  // Sums are of all ranks: what a class's file has counts once for each of its ranks.
  std::vector<RankRow> ranks;
  std::string missing_ranks;  // in words
  std::uint64_t nodes = 0, edges = 0;
  std::map<NodeType, std::uint64_t> types;
  std::map<OpKind, ClassRow> kinds;
  std::map<OpClass, ClassRow> classes;
  std::map<EdgeReason, ReasonRow> reasons;
  std::map<CommKind, TransferRow> transfers;
  std::map<std::string, StorageRow> storage;  // "storage fs read", "checkpoint"
  std::map<GroupCertainty, std::uint64_t> certainty;
  // Of a folded set of more ranks than TraceSet::kMostRanksOneByOne none: its roles alone.
  std::map<std::string, GroupRow> groups;
  std::uint64_t group_count = 0;         // all of them
  std::map<std::string, RoleRow> roles;  // folded sets only
  RangeSummary ranges;
  std::map<std::string, std::uint64_t> converter;  // kept in the files
  std::map<std::string, Diagnostics::Counter> reader;
};

// Of an .et file, or of the ranks that are there of a set's directory. Bad input as the readers
// say. Where `processes` share the ranks, only the first gets what they found.
[[nodiscard]] Result<TraceStats> CollectTraceStats(const std::string& path,
                                                   Processes& processes = OneProcess());

}  // namespace reprise
