// A trace node as a plain value: Chakra's fields plus Reprise's attributes (docs/et_format.md). How
// files, JSON and policies have the members: node_fields.h, header_fields.h.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/comm.h"
#include "core/enum_names.h"
#include "core/operators.h"
#include "core/placement.h"
#include "core/value.h"
#include "et_schema/link_report.h"
#include "et_schema/storage.h"

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
  kStorage = 8,
  kBatch = 9,
  kCheckpoint = 10,
};
REPRISE_NAMES(NodeType, "invalid", "metadata", "mem_load", "mem_store", "comp", "comm_send",
              "comm_recv", "comm_coll", "storage", "batch", "checkpoint");
[[nodiscard]] inline bool IsTransfer(NodeType type) {
  return type == NodeType::kCommSend || type == NodeType::kCommRecv || type == NodeType::kCommColl;
}
// Work of the storage stack, the data loader or a checkpoint: always takes its recorded time, since
// no kernel does it.
[[nodiscard]] inline bool IsStorage(NodeType type) {
  return type == NodeType::kStorage || type == NodeType::kBatch || type == NodeType::kCheckpoint;
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

// Where a device node's operation and class come from (docs/definitions.md).
enum class OpSource : std::uint8_t {
  kLaunch,          // the operation around the launch
  kGraphRecording,  // a device graph's kernel: the operation that launched it when it was recorded
  kEagerTwin,       // inferred: the operation of an equal kernel that ran outside of a graph
  kKernelName,      // no operation is known; the class follows from the kernel's name
};
REPRISE_NAMES(OpSource, "launch", "graph_recording", "eager_twin", "kernel_name");

// What rescaling (docs/guides/rescale.md) or a rule (docs/guides/transform.md) changed of a node.
// Recorded times stay but where a rule is about them.
enum class Rescaled : std::uint8_t {
  kNo,
  kGroup,   // a transfer whose group has another size
  kShard,   // tensors that data- or tensor-parallel ranks divide have another size
  kMean,    // the factor that makes a sum of replicas their mean
  kRule,    // a rule found it: its time, place or order
  kSize,    // a rule gave a transfer another size
  kRepeat,  // a copy of a node: one of a micro-batch that was not recorded
};
REPRISE_NAMES(Rescaled, "no", "group", "shard", "mean", "rule", "size", "repeat");

// Whether the recorded time is that of another size.
[[nodiscard]] constexpr bool HasOtherSize(Rescaled rescaled) {
  return rescaled == Rescaled::kGroup || rescaled == Rescaled::kShard ||
         rescaled == Rescaled::kSize;
}

// What the profiler records of a device event besides its times.
struct DeviceWork {
  // One launch → its kernels. Its presence in a file makes a device node.
  std::int64_t correlation = -1;
  bool launch_recorded = true;  // false: launched before the capture began, or lost
  // Kernels: blocks, and threads of a block; zeros: not recorded. Written both or none.
  std::array<std::int32_t, 3> grid = {};
  std::array<std::int32_t, 3> block = {};
  std::int32_t registers_per_thread = -1;
  std::int64_t shared_memory_bytes = -1;  // of a block
  std::int64_t copied_bytes = -1;         // memcpy, memset
  bool operator==(const DeviceWork&) const = default;
};

// The members that are attributes of their own in files, of a Node or a NodeView.
template <typename Text>
struct NodeFields {
  // Recorded times. Start is relative to TraceMetadata::base_ns (CLOCK_REALTIME of the capture);
  // delay = start − latest dependency end (docs/definitions.md), so that
  //   start(n) = max(end(d)) + delay(n)   end(n) = start(n) + duration(n).
  // For a wait, duration is what remains after its latest dependency ended. For a transfer,
  // duration is this rank's recorded time from issue to end; transfer_ns what is left of it after
  // the last member arrived (-1: unknown, not matched across ranks yet).
  std::int64_t start_ns = 0;
  std::int64_t duration_ns = 0;
  // The trace has no duration for it; 0 stands for none. What knows a machine may model it.
  bool untimed = false;
  std::int64_t delay_ns = 0;
  std::int64_t transfer_ns = -1;
  // Of duration and delay: what the tracing itself took, as estimated (docs/definitions.md).
  std::int64_t tracing_ns = 0;
  std::int64_t tracing_delay_ns = 0;
  OpKind kind = OpKind::kWork;
  OpClass op_class = OpClass::kOther;
  std::int32_t step = -1;    // index into TraceMetadata::steps
  std::int64_t rf_id = -1;   // record-function id
  std::int64_t seq_id = -1;  // autograd's sequence number
  Text parent;               // innermost composite that called it, e.g. "aten::linear"
  Text op_schema;
  bool results_inferred = false;  // `outputs` were concluded from `inputs`, not recorded
  // What simulators' traces give instead of arguments; -1: absent. Kept, not interpreted here.
  std::int64_t num_ops = -1;
  std::int64_t tensor_bytes = -1;
  // Device nodes: the operation that launched it ("aten::mm"), which is not in `name`. Where one
  // operation launched several, the longest has its arguments.
  Text op;
  OpSource op_source = OpSource::kLaunch;
  // Device nodes that a launch of a device graph ran: which graph, counted from 0 in each file; the
  // launches of one graph share it. -1: of none.
  std::int32_t graph = -1;
  Rescaled rescaled = Rescaled::kNo;

  bool operator==(const NodeFields&) const = default;
};

struct Node : NodeFields<std::string> {
  std::uint64_t id = 0;
  std::string name;
  NodeType type = NodeType::kInvalid;
  Actor actor;
  std::vector<Dependency> deps;
  ValueList inputs, outputs;  // schema order; tensors with shapes, strides, incarnations
  std::optional<DeviceWork> device_work;  // kernel, memcpy, memset and nothing else
  std::optional<CommSpec> comm;           // transfers (type kComm…) and nothing else
  std::optional<StorageWork> storage;     // as files have it: storage nodes, as a rule

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

// What a capture may sample of a device beside its nodes: names of a run's metrics, which are in
// files: append only.
enum class SampledQuantity : std::uint8_t {
  kPower,
  kTemperature,
  kSmClock,
  kMemoryClock,
  kFanSpeed,
  kSmActivity,      // share of cycles in which its multiprocessors had work
  kMemoryActivity,  // share of its memory's peak bandwidth
  kMemoryReads,     // of that, reads
  kMemoryWrites,    // of that, writes
  kPcieActivity,    // share of its PCIe link's peak bandwidth
};
REPRISE_NAMES(SampledQuantity, "power", "temperature", "sm_clock", "memory_clock", "fan_speed",
              "sm_activity", "memory_activity", "memory_reads", "memory_writes", "pcie_activity");
// "watts", "celsius", "hertz", "fraction".
[[nodiscard]] constexpr std::string_view UnitOf(SampledQuantity quantity) {
  switch (quantity) {
    case SampledQuantity::kPower:
      return "watts";
    case SampledQuantity::kTemperature:
      return "celsius";
    case SampledQuantity::kSmClock:
    case SampledQuantity::kMemoryClock:
      return "hertz";
    default:
      return "fraction";
  }
}

struct SampledSeries {
  SampledQuantity quantity{};
  std::int32_t device = 0;               // as Actor::device
  std::vector<std::int64_t> times_ns;    // ascending; relative to the base, as Node::start_ns
  std::vector<std::int64_t> millionths;  // parallel: of the quantity's unit
  bool operator==(const SampledSeries&) const = default;
};
// Samples of all series of a file: files hold no more, and readers take no more.
inline constexpr std::size_t kMaxSamples = 4'194'304;

// What a rank of the recorded job ran on, as its capture says; empty and 0 where it does not.
struct RecordedMachine {
  std::string processor;     // "AMD EPYC 7742 64-Core Processor"
  std::string device;        // the rank's accelerator; empty: none
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
  // Of the same step without tracing (median), -1 if the capture has none.
  std::int64_t untraced_step_ns = -1;
  // What tracing cost for each call that it recorded, as estimated; 0: unknown.
  std::int64_t tracing_call_ns = 0;
  // Of the process in a step without tracing (mean), -1 if the capture has none.
  std::int64_t untraced_page_faults = -1;
  // Offset that maps this rank's clock to rank 0's, its drift, and their uncertainty
  // (docs/definitions.md); set by the converter once the ranks of a set were matched.
  std::int64_t clock_offset_ns = 0;
  double clock_drift = 0;
  std::int64_t clock_uncertainty_ns = 0;
  std::vector<Step> steps;
  std::vector<Range> ranges;             // by start; callers before what they enclose
  std::vector<IndexRange> index_ranges;  // by incarnation, each once
  std::vector<SampledSeries> samples;    // by device and quantity, each once
  // Where the file was written alone, without a comm_groups.json: those that this rank knows. Ids
  // follow from the content, so that files of one job agree.
  std::vector<ProcessGroup> groups;
  RecordedMachine machine;
  RankPlacement placement;  // where the rank ran, as its capture says
  // Converter's diagnostics, kept with the data: name → count.
  std::vector<std::pair<std::string, std::uint64_t>> diagnostics;
  LinkReport link;  // how the capture's two recordings were put together
  bool operator==(const TraceMetadata&) const = default;
};

}  // namespace reprise
