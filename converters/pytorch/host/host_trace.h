// The host trace: what PyTorch's ExecutionTraceObserver wrote. No times; callers are unreliable.
// Versions differ in where a node keeps its fields (flat before 1.0.2, in `attrs` since), in the
// caller's name (`parent`, `ctrl_deps`), in the tensors' fields and in what 1.1 added (strides,
// records of communication, Triton kernels): docs/definitions.md.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "converters/pytorch/host/process_groups.h"
#include "converters/text_source.h"
#include "core/diagnostics.h"
#include "core/result.h"
#include "core/value.h"

namespace reprise::pytorch {

// torch/csrc/…/record_function.h, RecordScope.
enum class Scope : std::int32_t { kFunction = 0, kBackward = 1, kUser = 7 };

// What record_param_comms says: a host node's attributes or inputs, or the arguments of a Kineto
// event or of a communication kernel of newer PyTorch. What is absent is empty.
struct CommAttributes {
  std::string collective;  // "allreduce", "all_to_allv", …
  std::string dtype;       // "Float"
  std::string group_name, group_description;
  std::optional<std::int64_t> in_elements, out_elements;
  std::optional<std::int64_t> in_bytes, out_bytes;  // of records that count bytes instead
  std::vector<std::int64_t> in_splits, out_splits;  // written as strings: "[134, 146]"
  bool splits_cut = false;  // Kineto shortened a list with "...": nothing of it is known
  bool async = false;       // false: blocking, or not recorded
  // Within the group: the root of a rooted collective, the peer of a send or receive, else itself.
  std::optional<std::int64_t> rank;
  std::optional<std::int64_t> source, destination;  // "Src Rank", "Dst Rank": global
  std::optional<std::int64_t> sequence;
  // The group's members: a list of global ranks, or first, distance and number.
  std::vector<std::int64_t> ranks;
  bool ranks_cut = false;
  std::optional<std::int64_t> rank_start, rank_stride, group_size;
};

// Of the n-th tensor of a call's inputs, those in lists and undefined ones counted.
struct TensorRange {
  std::int64_t tensor = 0;
  std::int64_t low = 0, high = 0;
};

struct HostNode {
  std::uint64_t id = 0;      // unique: one that occurs twice is renumbered
  std::uint64_t caller = 0;  // id of the node that called it, as recorded
  std::int64_t rf_id = -1;   // -1: not recorded
  std::int64_t seq_id = -1;
  std::int64_t thread = 0;
  std::int64_t forward_thread = 0;
  Scope scope = Scope::kFunction;
  // Interned for the life of the HostTrace.
  const std::string* name = nullptr;
  const std::string* op_schema = nullptr;
  ValueList inputs, outputs;
  std::vector<TensorRange> tensor_ranges;  // of integer inputs, as they were when the call began
  bool values_missing = false;             // of arguments that are no tensors: None stands for any
  bool results_inferred = false;           // no outputs were recorded; these follow from the inputs
  std::unique_ptr<CommAttributes> comm;
};

class StringPool;

struct HostTrace {
  std::string schema;         // "1.1.1-chakra.0.0.4"
  std::int64_t process = -1;  // its id; -1: not recorded
  // When the observer was set up, by the wall clock of the host's own time zone, as if that were
  // UTC; -1: not recorded. How long it recorded; -1: not recorded.
  std::int64_t local_start_s = -1;
  std::int64_t length_ms = -1;
  std::vector<HostNode> nodes;
  std::vector<GroupRecord> groups;  // of this rank, in order of creation
  std::shared_ptr<StringPool> strings;
  std::uint64_t highest_id = 0;
};

// Bad input on anything that is not such a file, or damaged; names file and byte offset. Survivable
// oddities are counted: `non_json_number`, `host_schema_newer`, `host_attribute_unreadable`,
// `host_argument_lists_differ`, `duplicate_node_id`.
[[nodiscard]] Result<HostTrace> ReadHostTrace(TextSource& source, Diagnostics& diagnostics);

}  // namespace reprise::pytorch
