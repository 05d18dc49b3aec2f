// The nodes of a linked JSON trace, as written.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "converters/text_file.h"
#include "core/comm.h"
#include "core/diagnostics.h"
#include "core/result.h"
#include "core/value.h"
#include "et_schema/node.h"

namespace reprise::chakra {

struct LinkedNode {
  std::uint64_t id = 0;
  std::uint64_t caller = 0;
  std::string name;
  std::string category;  // "kernel", "gpu_memcpy", …; empty: a host operation
  std::int64_t start_ns = -1;
  std::int64_t duration_ns = 0;  // with what it calls
  std::int64_t thread = 0;
  std::int64_t stream = 0;
  std::int64_t rf_id = -1;
  std::int64_t seq_id = -1;
  std::string op_schema;
  std::string group_name, dtype, collective;  // of record_param_comms
  std::int64_t in_elements = -1, out_elements = -1;
  std::vector<std::uint64_t> waits_for;  // inter_thread_dep, sync_dep
  ValueList inputs, outputs;
};

struct LinkedTrace {
  std::string schema;
  std::vector<LinkedNode> nodes;
};
// Bad input on what is no such JSON, names the byte; values of the wrong type count as
// `json_value_type`.
[[nodiscard]] Result<LinkedTrace> ReadLinkedNodes(const TextFile& file, Diagnostics& diagnostics);

// Makes `node`, which has its arguments, the transfer that `from` recorded: sizes from the recorded
// element counts, else from the arguments.
void FillLinkedTransfer(CommKind kind, const LinkedNode& from, Node& node);

}  // namespace reprise::chakra
