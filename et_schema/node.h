// A trace node as a plain value: Chakra's fields plus Reprise's attributes (docs/et_format.md).
// Members that files have as an attribute of their own come from the table, which says what they
// are: fields.def.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/comm.h"
#include "core/enum_names.h"
#include "core/operators.h"
#include "core/placement.h"
#include "core/value.h"
#include "et_schema/field_types.h"
#include "et_schema/link_report.h"

namespace reprise {

// Chakra's NodeType, same numbers.
enum class NodeType : std::uint8_t {
  kInvalid = 0,
  kMetadata = 1,
  kMemLoad = 2,
  kMemStore = 3,
  kComp = 4,
  kCommSend = 5,
  kCommRecv = 6,
  kCommColl = 7,
};
REPRISE_NAMES(NodeType, "invalid", "metadata", "mem_load", "mem_store", "comp", "comm_send",
              "comm_recv", "comm_coll");
[[nodiscard]] inline bool IsTransfer(NodeType type) {
  return type == NodeType::kCommSend || type == NodeType::kCommRecv || type == NodeType::kCommColl;
}

// The type of a node that makes this transfer.
[[nodiscard]] inline NodeType TypeOfTransfer(CommKind kind) {
  return kind == CommKind::kSend   ? NodeType::kCommSend
         : kind == CommKind::kRecv ? NodeType::kCommRecv
                                   : NodeType::kCommColl;
}

// Why a node waits for another (docs/definitions.md). An edge always means end → start. The
// numbers are in files: append only.
enum class EdgeReason : std::uint8_t {
  kUnknown,   // foreign files: no reason recorded
  kThread,    // previous node of the host thread
  kStream,    // previous node of the device stream
  kLaunch,    // issuing piece → kernel, or c10d call → its transfer
  kEvent,     // event record → wait across streams
  kSync,      // device → host wait
  kData,      // by storage incarnation, where no other edge implies it
  kFwdBwd,    // forward → backward
  kGroup,     // previous transfer of the process group / peer sequence
  kCommWait,  // transfer → the wait for it
  kControl,   // foreign files: a control dependency, and no reason recorded
};
REPRISE_NAMES(EdgeReason, "unknown", "thread", "stream", "launch", "event", "sync", "data",
              "fwd_bwd", "group", "comm_wait", "control");
// Whether the edge is order alone: no value goes from one node to the other. Chakra's ctrl_deps.
[[nodiscard]] constexpr bool IsControl(EdgeReason reason) {
  return reason != EdgeReason::kUnknown && reason != EdgeReason::kData &&
         reason != EdgeReason::kFwdBwd && reason != EdgeReason::kCommWait;
}

struct Dependency {
  std::uint64_t node_id = 0;
  EdgeReason reason = EdgeReason::kUnknown;
  bool inferred = false;  // concluded from times, not recorded
  bool operator==(const Dependency&) const = default;
};

// Who executes a node, in order. Nodes of a thread never overlap; those of a stream may, where a
// capture recorded kernels beside each other.
struct Actor {
  enum class Kind : std::uint8_t { kThread, kStream, kGroup } kind = Kind::kThread;
  // Thread: the trace's thread number. Stream: stream id. Group: unused (see CommSpec).
  std::int64_t id = 0;
  std::int32_t device = -1;  // streams only
  bool operator==(const Actor&) const = default;
};
REPRISE_NAMES(Actor::Kind, "thread", "stream", "group");

// What the profiler records of a device event besides its times.
struct DeviceWork {
#define DEVICE_FIELD(symbol, member, name, type, value, ...) field::type::Value member = value;
#include "et_schema/fields.def"
  bool operator==(const DeviceWork&) const = default;
};

struct Node {
  std::uint64_t id = 0;
  std::string name;
  NodeType type = NodeType::kInvalid;
  Actor actor;
  std::vector<Dependency> deps;
  // start_ns, duration_ns, delay_ns, …, kind, op_class, …
#define NODE_FIELD(symbol, member, name, type, value, ...) field::type::Value member = value;
#include "et_schema/fields.def"
  ValueList inputs, outputs;  // schema order; tensors with shapes, strides, incarnations
  std::optional<DeviceWork> device_work;  // kernel, memcpy, memset and nothing else
  std::optional<CommSpec> comm;           // transfers (type kComm…) and nothing else

  bool operator==(const Node&) const = default;
};

struct Step {
  std::string name;  // "ProfilerStep#8", or "trace"
  std::int64_t start_ns = 0;
  std::int64_t duration_ns = 0;
  bool operator==(const Step&) const = default;
};

// A part of a host thread's time that the program named (record_function and the like).
struct Range {
  std::string name;
  std::int64_t thread = 0;    // as Actor::id of the thread's nodes
  std::int64_t start_ns = 0;  // relative to the base, as Node::start_ns
  std::int64_t duration_ns = 0;
  std::int32_t step = -1;  // index into TraceMetadata::steps
  bool operator==(const Range&) const = default;
};

// More than a step of anything seen has. Files hold no more, and readers take no more: a damaged
// file must not name one long text a million times.
inline constexpr std::size_t kMaxRanges = 65'536;
inline constexpr std::size_t kLongestRangeName = 1'024;  // bytes

struct ProcessGroup {
  std::string id;                   // key in comm_groups.json and CommSpec::group
  std::string description;          // "default_pg", "tp"
  std::vector<std::int32_t> ranks;  // global ranks in group order
  bool operator==(const ProcessGroup&) const = default;
};

// The smallest and the largest value of an integer storage that existed before the trace, where the
// capture recorded it.
struct IndexRange {
  std::int64_t incarnation = 0;
  std::int64_t low = 0, high = 0;  // both occur
  bool operator==(const IndexRange&) const = default;
};

// Of the names of a RankPlacement's fields in files.
inline constexpr std::string_view kPlacementPrefix = "placement_";

// What a rank of the recorded job ran on, as its capture says; empty and 0 where it does not.
struct RecordedMachine {
#define MACHINE_FIELD(member, name, type, value) field::type::Value member = value;
#include "et_schema/fields.def"
  bool operator==(const RecordedMachine&) const = default;
};

// Once per file, in Chakra's GlobalMetadata.
struct TraceMetadata {
  std::string version;  // schema version of this file
  // rank, world_size, base_ns, …
#define HEADER_FIELD(symbol, member, name, type, value, ...) field::type::Value member = value;
#define HEADER_PART(member, name, type, value, ...) field::type::Value member = value;
#include "et_schema/fields.def"
  std::vector<Step> steps;
  std::vector<Range> ranges;             // by start; callers before what they enclose
  std::vector<IndexRange> index_ranges;  // by incarnation, each once
  // Where the file was written alone, without a comm_groups.json: those that this rank knows. Ids
  // follow from the content, so that files of one job agree.
  std::vector<ProcessGroup> groups;
  RecordedMachine machine;
  RankPlacement placement;
  // Converter's diagnostics, kept with the data: name → count.
  std::vector<std::pair<std::string, std::uint64_t>> diagnostics;
  LinkReport link;  // how the capture's two recordings were put together
  bool operator==(const TraceMetadata&) const = default;
};

}  // namespace reprise
