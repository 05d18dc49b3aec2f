// NCCL's ranges in an export of Nsight Systems: its calls, and what their payloads say
// (NCCL's NVTX domain, payload schemas since NCCL 2.16; exported with `--include-blobs true`).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "converters/pytorch/nsight/nsight_tables.h"
#include "core/comm.h"
#include "core/result.h"

namespace reprise::pytorch {

// Integers of a payload; nothing: it has no such field.
struct NcclPayload {
  std::optional<std::int64_t> communicator;   // equal on all members
  std::optional<std::int64_t> bytes;          // of one member's contribution, or of one block
  std::optional<std::int64_t> members, rank;  // of a communicator that begins
  std::optional<std::int64_t> root, peer;     // ranks within the communicator
};

// How payloads of one export are laid out.
class NcclPayloads {
 public:
  static Result<NcclPayloads> Read(NsightTables& tables);
  // Of a value of the column binaryData. Nothing in any field: it is of no schema that is known, or
  // damaged.
  [[nodiscard]] NcclPayload Decode(std::string_view blob) const;
  [[nodiscard]] bool empty() const { return fields_.empty(); }

 private:
  struct Field {
    std::uint64_t offset = 0, bytes = 0;
    std::optional<std::int64_t> NcclPayload::*member = nullptr;
  };
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::vector<Field>> fields_;  // domain, schema
};

// A communicator, as the processes of one file saw it begin.
struct NcclCommunicator {
  std::int64_t members = 0;
  std::map<std::int64_t, std::int64_t> processes;  // "globalPid" by rank
};
using NcclCommunicators = std::map<std::int64_t, NcclCommunicator>;  // by identity
[[nodiscard]] Result<NcclCommunicators> FindCommunicators(NsightTables& tables);

// "ncclAllReduce" → kAllReduce. Nothing: no call that transfers.
[[nodiscard]] std::optional<CommKind> NcclCallKind(std::string_view range);

}  // namespace reprise::pytorch
