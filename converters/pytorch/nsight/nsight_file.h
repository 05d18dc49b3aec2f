// Which processes an export of Nsight Systems holds, and of which ranks they are.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "converters/pytorch/nsight/nccl_ranges.h"
#include "converters/pytorch/nsight/nsight_tables.h"
#include "core/result.h"

namespace reprise::pytorch {

// A process that used a GPU.
struct NsightProcess {
  std::int64_t global = -1;   // "globalPid"; -1: the export has no such numbers
  std::int64_t process = -1;  // the host's number; -1: not known
  std::int64_t device = -1;   // the lowest that it used
  // By the communicator with most members, if it began while the profiler recorded; -1: not known.
  std::int32_t rank = -1, world_size = -1;
};

struct NsightFile {
  std::string host;                      // empty: not recorded
  std::int64_t start_ns = -1;            // UTC, of time 0; -1: not recorded
  std::vector<NsightProcess> processes;  // by rank where all have one, else by device and number
  NcclCommunicators communicators;
};

// Bad input: no export, damaged, or no process used a GPU.
[[nodiscard]] Result<NsightFile> DescribeNsightFile(NsightTables& tables);

}  // namespace reprise::pytorch
