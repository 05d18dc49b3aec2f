// Transfers alone, of many ranks, as recorders of communication libraries have them, on their way
// to a trace set.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/comm.h"
#include "core/diagnostics.h"
#include "et_schema/node.h"

namespace reprise::recorded_transfers {

// A process group as one rank's file has it.
struct RecordedGroup {
  std::string name;  // of a recorder; with the ranks, what tells groups apart
  std::string description;
  std::vector<std::int32_t> ranks;  // global ranks in group order; empty: not recorded
};

struct RecordedTransfer {
  std::string name;         // of the node: "nccl:all_reduce"
  std::int32_t group = -1;  // index of the rank's groups
  // What is recorded of it: kind, dtype, sizes, sequence, state, tag, async. `peer` is a position
  // in the group until its ranks are known. Times are absolute, in ns.
  CommSpec spec;
  // Collectives of different lanes have numbers (CommSpec::sequence) of their own.
  std::int32_t lane = 0;
  bool is_root = false;
  std::int64_t duration_ns = -1;  // -1: not recorded
  std::int64_t started_ns = -1;   // when it began to run, of recorders that see that; else -1
  // What messages call it: "entry 12 (nccl:all_reduce)".
  std::string where;
  // Set by AlignTransfers.
  std::int64_t start_ns = 0;
  std::int64_t transfer_ns = -1;
};

struct RecordedRank {
  std::int32_t rank = -1;
  std::string path;
  std::string source;  // TraceMetadata::source
  std::string host;
  bool from_start = false;  // no transfer was overwritten before the recording ended
  std::vector<RecordedGroup> groups;
  std::vector<RecordedTransfer> transfers;  // in the order of issue
  std::uint64_t records = 0;                // of the file, of any kind
  Diagnostics diagnostics;
};

}  // namespace reprise::recorded_transfers
