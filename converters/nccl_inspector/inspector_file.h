// A process's file of NCCL's Inspector (plugins/profiler/inspector of NVIDIA/nccl, RCCL's port
// too): JSON objects, one a line, of versions 4.0 to 4.4 of its format.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "converters/text_file.h"
#include "core/comm.h"
#include "core/diagnostics.h"
#include "core/result.h"

namespace reprise::nccl_inspector {

// What is not recorded is -1 or empty. Times are absolute, in ns; `rank` and `peer` are positions
// in the communicator.
struct InspectorRecord {
  std::string communicator;
  std::int32_t rank = -1, peer = -1;
  CommKind kind = CommKind::kUnknown;
  std::int64_t sequence = -1;  // of a collective: counts those of its kind
  // What one member puts in, but of ReduceScatter what it gets, of AlltoAll one block.
  std::int64_t message_bytes = -1;
  std::int64_t duration_ns = -1;  // of the kernels' slowest channel, as coll_timing_source says
  std::int64_t issued_ns = -1;    // verbose files: when the call was launched
  std::int64_t started_ns = -1;   // verbose files: when its first kernel was seen to run
  std::int64_t ended_ns = -1;     // verbose files: when its last kernel was seen to end
  std::int64_t dumped_ns = -1;    // when the record was written
  std::uint64_t number = 0;       // of the file's objects
};

struct InspectorCommunicator {
  std::string name;  // of the application; empty: none
  std::int32_t members = 0;
  std::uint64_t dropped = 0;  // transfers that were overwritten before they were written
};

// Of one process.
struct InspectorFile {
  std::string path;
  std::string version;  // "v4.0"
  std::string host;
  std::int64_t process = -1;
  std::map<std::string, InspectorCommunicator> communicators;  // by id
  std::vector<InspectorRecord> records;                        // in the order of the file
  std::uint64_t objects = 0;
  Diagnostics diagnostics;
};

[[nodiscard]] bool LooksLikeInspector(const std::string& path);

// From version 4.3 on, records follow the `dump_stats` object that has their header. Counts
// `recorder_value_unreadable`, `recorder_version_newer`, `recorder_record_cut` (the last one, of a
// process that was writing it) and `transfer_detail_left_out` (records of
// proxies, which are parts of transfers). Bad input with the byte of what is damaged, and of a
// record that no header comes before.
// Files of several processes may have been put into one: each process is one of the result, in the
// order of their first records.
[[nodiscard]] Result<std::vector<InspectorFile>> ReadInspectorFile(const TextFile& file);

}  // namespace reprise::nccl_inspector
