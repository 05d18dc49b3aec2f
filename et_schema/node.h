// A trace node as a plain value: Chakra's fields plus Reprise's attributes (docs/et_format.md).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/comm.h"
#include "core/operators.h"
#include "core/value.h"
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
[[nodiscard]] std::string_view Name(NodeType type);  // "comp", "comm_coll", …
[[nodiscard]] inline bool IsTransfer(NodeType type) {
  return type == NodeType::kCommSend || type == NodeType::kCommRecv || type == NodeType::kCommColl;
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
[[nodiscard]] std::string_view Name(EdgeReason reason);
[[nodiscard]] std::optional<EdgeReason> ParseEdgeReason(std::string_view text);
// Whether the edge is order alone: no value goes from one node to the other. Chakra's ctrl_deps.
[[nodiscard]] bool IsControl(EdgeReason reason);

struct Dependency {
  std::uint64_t node_id = 0;
  EdgeReason reason = EdgeReason::kUnknown;
  bool inferred = false;  // concluded from times, not recorded
  bool operator==(const Dependency&) const = default;
};

// Who executes a node, in order. Within an actor nodes never overlap.
struct Actor {
  enum class Kind : std::uint8_t { kThread, kStream, kGroup } kind = Kind::kThread;
  // Thread: the trace's thread number. Stream: stream id. Group: unused (see CommSpec).
  std::int64_t id = 0;
  std::int32_t device = -1;  // streams only
  bool operator==(const Actor&) const = default;
};
[[nodiscard]] std::string_view Name(Actor::Kind kind);  // "thread", "stream", "group"

// What the profiler records of a device event besides its times.
struct DeviceWork {
  std::int64_t correlation = -1;        // one launch → its kernels
  bool launch_recorded = true;          // false: launched before the capture began, or lost
  std::array<std::int32_t, 3> grid{};   // kernels: blocks; zeros: not recorded
  std::array<std::int32_t, 3> block{};  // kernels: threads of a block
  std::int32_t registers_per_thread = -1;
  std::int64_t shared_memory_bytes = -1;  // of a block
  std::int64_t copied_bytes = -1;         // memcpy, memset
  bool operator==(const DeviceWork&) const = default;
};

struct Node {
  std::uint64_t id = 0;
  std::string name;
  NodeType type = NodeType::kInvalid;
  OpKind kind = OpKind::kWork;
  OpClass op_class = OpClass::kOther;
  Actor actor;
  std::vector<Dependency> deps;

  // Recorded times. Start is relative to TraceMetadata::base_ns (CLOCK_REALTIME of the capture);
  // delay = start − latest dependency end (docs/definitions.md), so that
  //   start(n) = max(end(d)) + delay(n)   end(n) = start(n) + duration(n).
  // For a wait, duration is what remains after its latest dependency ended. For a transfer,
  // duration is this rank's recorded time from issue to end; transfer_ns what is left of it after
  // the last member arrived (-1: unknown, not matched across ranks yet).
  std::int64_t start_ns = 0;
  std::int64_t duration_ns = 0;
  std::int64_t delay_ns = 0;
  std::int64_t transfer_ns = -1;
  // Of duration and delay: what the tracing itself took, as estimated (docs/definitions.md).
  std::int64_t tracing_ns = 0;
  std::int64_t tracing_delay_ns = 0;

  std::int32_t step = -1;         // index into TraceMetadata::steps
  std::int64_t rf_id = -1;        // record-function id
  std::int64_t seq_id = -1;       // autograd sequence number
  std::string parent;             // innermost composite that called it, e.g. "aten::linear"
  ValueList inputs, outputs;      // schema order; tensors with shapes, strides, incarnations
  bool results_inferred = false;  // `outputs` were concluded from `inputs`, not recorded
  std::string op_schema;
  // Device nodes: the operation that launched it ("aten::mm"), which is not in `name`. Where
  // one operation launched several, the longest has its arguments.
  std::string op;
  std::optional<DeviceWork> device_work;  // kernel, memcpy, memset and nothing else
  std::optional<CommSpec> comm;           // transfers (type kComm…) and nothing else

  // What simulators' traces give instead of arguments; -1: absent. Kept, not interpreted here.
  std::int64_t num_ops = -1;
  std::int64_t tensor_bytes = -1;

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

// What a rank of the recorded job ran on, as its capture says; empty and 0 where it does not.
struct RecordedMachine {
  std::string processor;     // "AMD EPYC 7742 64-Core Processor"
  std::string device;        // the rank's accelerator, "NVIDIA H100 80GB HBM3"; empty: none
  std::string framework;     // "PyTorch 2.10.0+cpu"
  std::int32_t threads = 0;  // that one operator may use
  std::int32_t cores = 0;    // that the rank may use
  bool operator==(const RecordedMachine&) const = default;
};

// Once per file, in Chakra's GlobalMetadata.
struct TraceMetadata {
  std::string version;  // schema version of this file
  std::int32_t rank = 0;
  std::int32_t world_size = 1;
  std::int64_t base_ns = 0;  // see Node::start_ns
  std::string source;        // "pytorch host trace 1.1.1-chakra.0.0.4 + kineto"
  std::vector<Step> steps;
  std::vector<Range> ranges;             // by start; callers before what they enclose
  std::vector<IndexRange> index_ranges;  // by incarnation, each once
  // Where the file was written alone, without a comm_groups.json: those that this rank knows. Ids
  // follow from the content, so that files of one job agree.
  std::vector<ProcessGroup> groups;
  // Seconds→ns of the same step without tracing (median), -1 if the capture has none.
  std::int64_t untraced_step_ns = -1;
  // What tracing cost for each call that it recorded, as estimated; 0: unknown.
  std::int64_t tracing_call_ns = 0;
  RecordedMachine machine;
  // Offset that maps this rank's clock to rank 0's, its drift, and their uncertainty
  // (docs/definitions.md); set by the converter once the ranks of a set were matched.
  std::int64_t clock_offset_ns = 0;
  double clock_drift = 0;
  std::int64_t clock_uncertainty_ns = 0;
  // Converter's diagnostics, kept with the data: name → count.
  std::vector<std::pair<std::string, std::uint64_t>> diagnostics;
  LinkReport link;  // how the capture's two recordings were put together
  bool operator==(const TraceMetadata&) const = default;
};

}  // namespace reprise
