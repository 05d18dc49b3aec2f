// One rank's capture after reading: what the stages of a conversion pass on.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "converters/pytorch/files/rank_files.h"
#include "converters/pytorch/host/host_trace.h"
#include "converters/pytorch/kineto/kineto.h"
#include "converters/pytorch/rank/comm_arguments.h"
#include "converters/pytorch/rank/meta.h"
#include "converters/pytorch/rank/operation_list.h"
#include "core/diagnostics.h"
#include "core/operators.h"
#include "core/result.h"
#include "et_schema/node.h"

namespace reprise::pytorch {

// What becomes of a recorded operation.
enum class Role : std::uint8_t {
  kFrame,     // composite: no node, only the `parent` of its children
  kNode,      // one node from its start to its end: work, metadata or wait
  kPart,      // inside a node, a comm call or a transfer
  kCommCall,  // issues a transfer
  kTransfer,  // is one
};

struct Classified {
  Role role = Role::kFrame;
  OpInfo info;
  // It went to a Python tensor subclass (DTensor): its arguments are wrappers without storage.
  bool subclass = false;
};

// A device event that another event or a host call waits for.
struct DeviceSource {
  std::int32_t event = -1;
  bool inferred = false;  // the capture has the waiting call, but not for what
  bool operator==(const DeviceSource&) const = default;
};

struct CallLink {
  std::int32_t thread = -1;     // index into OperationList::threads
  std::int32_t operation = -1;  // innermost around it, -1: none
  // The operation that becomes a node (Role::kNode, kCommCall) around it; -1: called in a frame.
  std::int32_t node = -1;
  std::vector<std::int32_t> events;   // what it launched; CUDA graphs: many
  std::vector<DeviceSource> sources;  // what the host waits for in it
  // Cuts the host's node: it launches, or it waits.
  [[nodiscard]] bool Cuts(const RuntimeCall& call) const {
    return !events.empty() || !sources.empty() || IsHostWait(call.kind);
  }
};

// The node of a recorded graph that a device event replays.
struct RecordedPlace {
  std::int32_t graph = -1;  // index into RankCapture::recorded_graphs; -1: unknown
  std::int32_t node = -1;   // index into its nodes
  std::int64_t rf_id = -1;  // the same for the kernels of one operation in one launch
  bool arguments = false;   // the event has its operation's arguments: the longest kernel of it
  bool inferred = false;    // no recording: of a kernel that ran without a graph (graph_twins.h)
};

struct RecordedGraph;  // graph_recordings.h
using RecordedGraphs = std::vector<std::shared_ptr<const RecordedGraph>>;
// From other captures: graphs that were recorded, and kernels that ran without a graph.
struct GraphSources {
  RecordedGraphs recorded, like;
};

struct EventLink {
  std::int32_t call = -1;             // that launched it
  std::int32_t operation = -1;        // innermost that launched it
  std::int32_t node = -1;             // as in CallLink
  bool main = false;                  // the longest kernel of its operation: it has the arguments
  std::vector<DeviceSource> sources;  // on other streams
  std::int32_t graph = -1;            // as NodeFields::graph
  RecordedPlace recorded;
  OpClass named_class = OpClass::kOther;  // as its name says, where no operation is known
};

struct DeviceLinks {
  std::vector<CallLink> calls;    // parallel to DeviceTrace::calls
  std::vector<EventLink> events;  // parallel to DeviceTrace::events
};

// A transfer of this rank, once, although up to four records show it:
//   _c10d_functional::all_reduce > c10d::allreduce_ > record_param_comms > gloo:all_reduce
struct TransferRecord {
  std::int32_t call = -1;          // operation that issued it; -1: none was recorded
  std::int32_t leaf = -1;          // the transfer's own (first) record; -1: a device event
  std::int32_t device_event = -1;  // index into DeviceTrace::events: NCCL; -1: gloo
  std::int32_t carrier = -1;  // device event that moved it beside others: a batch is one kernel
  std::int32_t thread = -1;   // index of the thread that issued it
  std::int64_t worker = -1;   // Kineto thread that ran it; distinguishes groups (gloo)
  std::int64_t start_ns = 0;  // this rank's arrival
  std::int64_t end_ns = 0;
  std::int64_t wait_ns = -1;      // point-to-point: when the wait for it returned
  bool wait_blocked = false;      // … and the host had been doing nothing else before
  std::int64_t transfer_ns = -1;  // what is left of it after the last needed arrival
  // .spec is complete once groups are assigned; .said has what the capture says of the group.
  CommArguments arguments;
  [[nodiscard]] bool NamesGroup() const { return !arguments.said.group_name.empty(); }
};

// The files of one rank; meta is optional.
struct RankCapture {
  RankFiles files;
  std::int32_t rank = 0;
  std::int32_t world_size = -1;  // -1: the capture does not say
  std::string label;             // "rank 3", for messages
  HostTrace host;
  KinetoTrace kineto;
  OperationList list;
  std::vector<Classified> roles;  // parallel to list.operations
  DeviceLinks links;
  // Of this rank, in order of creation; with their members once SettleGroups has run.
  std::vector<GroupRecord> groups;
  std::vector<TransferRecord> transfers;
  // That launches were matched with: recordings, its own before others', and eager kernels.
  RecordedGraphs recorded_graphs;

  std::int64_t base_ns = 0;                   // start of the first step, since the epoch
  std::vector<Step> steps;                    // relative to base_ns; as marked until FrameSteps
  std::vector<Range> ranges;                  // relative to base_ns
  std::vector<std::int32_t> step_operations;  // their operations; empty: no ProfilerStep
  CaptureMeta meta;
  Diagnostics diagnostics;

  [[nodiscard]] std::int32_t OperationCount() const {
    return static_cast<std::int32_t>(list.operations.size());
  }
  [[nodiscard]] const Operation& Op(std::int32_t i) const { return list.Op(i); }
  [[nodiscard]] const OpInfo& InfoOf(std::int32_t operation) const {
    return roles[static_cast<std::size_t>(operation)].info;
  }
  [[nodiscard]] Role RoleOf(std::int32_t operation) const {
    return roles[static_cast<std::size_t>(operation)].role;
  }
  [[nodiscard]] const TransferRecord& Transfer(std::int32_t i) const {
    return transfers[static_cast<std::size_t>(i)];
  }
  [[nodiscard]] const DeviceEvent& Event(std::int32_t i) const {
    return kineto.device.events[static_cast<std::size_t>(i)];
  }
  [[nodiscard]] const EventLink& EventLinkOf(std::int32_t i) const {
    return links.events[static_cast<std::size_t>(i)];
  }
  [[nodiscard]] const RuntimeCall& Call(std::int32_t i) const {
    return kineto.device.calls[static_cast<std::size_t>(i)];
  }
  // The host trace's node of an operation; nullptr where it has none or `i` is -1.
  [[nodiscard]] const HostNode* HostOf(const Operation& op) const {
    return op.host < 0 ? nullptr : &host.nodes[static_cast<std::size_t>(op.host)];
  }
  [[nodiscard]] const HostNode* HostOf(std::int32_t i) const {
    return i < 0 ? nullptr : HostOf(Op(i));
  }
  [[nodiscard]] HostNode* HostOf(std::int32_t i) {
    const std::int32_t node = i < 0 ? -1 : Op(i).host;
    return node < 0 ? nullptr : &host.nodes[static_cast<std::size_t>(node)];
  }
  // Kineto's event of an operation, until ReadRank has returned.
  [[nodiscard]] const KinetoEvent& KinetoEventOf(std::int32_t i) const {
    return kineto.events[static_cast<std::size_t>(Op(i).event)];
  }
  [[nodiscard]] const CommAttributes* KinetoCommOf(std::int32_t i) const {
    return i < 0 ? nullptr : KinetoEventOf(i).comm.get();
  }
  // What is recorded of a call of Role::kCommCall, or of any operation inside of one; nothing of
  // other operations, whose names mean something else.
  [[nodiscard]] CommSources SourcesOf(std::int32_t call) const;
  // "rank 0: ncclDevKernel_AllReduce_…", for messages.
  [[nodiscard]] std::string NameOf(const TransferRecord& transfer) const;
  // The first operation in `call`, itself included, whose name begins so; -1: none.
  [[nodiscard]] std::int32_t FirstIn(std::int32_t call, std::string_view name) const;
  // The name of the innermost composite around an operation; empty: none.
  [[nodiscard]] std::string FrameOf(std::int32_t operation) const;
  // The step in which a host operation is that starts then (since the epoch): the last one marked
  // by then; −1 before the first mark and from the last one's end on. 0 without marks.
  [[nodiscard]] std::int32_t StepAt(std::int64_t time_ns) const;
};

// Reads, links, classifies, finds incarnations and transfers. Needs no other rank. `graphs`: beside
// what the files hold.
[[nodiscard]] Result<RankCapture> ReadRank(const RankFiles& files,
                                           RepeatChoice choice = RepeatChoice::kRecorded,
                                           const GraphSources& graphs = {});

}  // namespace reprise::pytorch
