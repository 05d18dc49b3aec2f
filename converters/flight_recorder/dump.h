// A dump of PyTorch's flight recorder: what one rank's communication calls were, and how far they
// got (torch/csrc/distributed/c10d/FlightRecorder*: versions 2.0 to 2.10 of the dump).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "converters/text_file.h"
#include "core/comm.h"
#include "core/diagnostics.h"
#include "core/dtype.h"
#include "core/result.h"

namespace reprise::flight_recorder {

struct DumpTensor {
  std::int64_t elements = 0;  // -1: more than 2^62
  DType dtype = DType::kUnknown;
};

// What is not recorded is -1 or empty. Times are absolute, in ns.
struct DumpEntry {
  std::int64_t record = -1;  // number in the buffer, from 0 on
  std::string group, group_description;
  std::int64_t collective = -1;  // counts the group's collectives, on all members alike
  std::int64_t p2p = -1;         // counts this rank's point-to-point launches in the group
  std::string name;              // "nccl:all_reduce", "nccl:send 0->1", "nccl:coalesced"
  std::vector<DumpTensor> inputs, outputs;
  std::int64_t created_ns = -1;
  std::int64_t noticed_start_ns = -1, noticed_end_ns = -1;
  std::int64_t duration_ns = -1;
  TransferState state = TransferState::kCompleted;
  bool retired = false;  // and not completed: it timed out
};

struct DumpGroup {
  std::string name, description;
  std::vector<std::int32_t> ranks;
};

struct Dump {
  std::string form;             // "pickle", "JSON"
  std::string version;          // of the dump: "2.10"
  std::string library_version;  // NCCL's, or another library's; empty: not recorded
  std::string host;
  std::int32_t rank = -1;
  std::vector<DumpGroup> groups;
  std::vector<DumpEntry> entries;  // in the order of issue
};

// Whether a file begins as such a dump does: pickle, or JSON.
[[nodiscard]] bool LooksLikeDump(const std::string& path);

// Bad input with the byte of what is damaged. Counts `recorder_value_unreadable` (a value of
// another type than the recorder writes, taken as absent) and `recorder_version_newer`.
[[nodiscard]] Result<Dump> ReadDump(const TextFile& file, Diagnostics& diagnostics);

}  // namespace reprise::flight_recorder
