// Metadata and nodes → Chakra's messages (et_def.proto), in the order in which protobuf would write
// them.
#include "et_schema/node_encoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "et_schema/args.h"
#include "et_schema/attribute_writer.h"
#include "et_schema/io.h"
#include "et_schema/message_reader.h"
#include "et_schema/node_stream.h"
#include "et_schema/ranges.h"
#include "et_schema/wire_buffer.h"

namespace reprise {
namespace {

// Field numbers of et_def.proto.
namespace global_field {
constexpr std::uint32_t kVersion = 1, kAttr = 2;
}
namespace node_field {
constexpr std::uint32_t kId = 1, kName = 2, kType = 3, kCtrlDeps = 4, kDataDeps = 5;
constexpr std::uint32_t kStartMicros = 6, kDurationMicros = 7, kInputs = 8, kOutputs = 9;
constexpr std::uint32_t kAttr = 10;
}  // namespace node_field
namespace io_field {
constexpr std::uint32_t kValues = 1, kShapes = 2, kTypes = 3;
}

void FillLink(const LinkReport& link, Attributes& attributes) {
  if (link.method.empty()) {
    return;
  }
  attributes.Text("link_method", link.method);
  attributes.Text("link_choice", link.choice);
  attributes.Int64List("link_numbers", LinkNumbers(link));
  std::vector<std::int64_t> threads;
  for (const LinkReport::Thread& thread : link.threads) {
    const auto numbers = LinkNumbers(thread);
    threads.insert(threads.end(), numbers.begin(), numbers.end());
  }
  attributes.Int64List("link_threads", threads);
  attributes.TextList("link_unmatched", link.unmatched);
}

void FillMachine(const RecordedMachine& machine, Attributes& attributes) {
  for (const auto& [name, text] : {std::pair("machine_processor", &machine.processor),
                                   std::pair("machine_device", &machine.device),
                                   std::pair("machine_framework", &machine.framework)}) {
    if (!text->empty()) {
      attributes.Text(name, *text);
    }
  }
  attributes.Int64Unless("machine_threads", machine.threads, 0);
  attributes.Int64Unless("machine_cores", machine.cores, 0);
}

void FillGroups(const std::vector<ProcessGroup>& groups, Attributes& attributes) {
  if (groups.empty()) {
    return;
  }
  std::vector<std::string> ids;
  std::vector<std::string> descriptions;
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> ranks;
  for (const ProcessGroup& group : groups) {
    ids.push_back(group.id);
    descriptions.push_back(group.description);
    sizes.push_back(static_cast<std::int64_t>(group.ranks.size()));
    ranks.insert(ranks.end(), group.ranks.begin(), group.ranks.end());
  }
  attributes.TextList("group_ids", ids);
  attributes.TextList("group_descriptions", descriptions);
  attributes.Int64List("group_sizes", sizes);
  attributes.Int64List("group_ranks", ranks);
}

void FillMetadata(const TraceMetadata& metadata, WireBuffer& out) {
  out.TextField(global_field::kVersion, metadata.version);
  Attributes attributes(out, global_field::kAttr);
  attributes.Int32(kFormatAttribute, kFormatVersion);
  attributes.Int32("rank", metadata.rank);
  attributes.Int32("world_size", metadata.world_size);
  attributes.Int64("base_ns", metadata.base_ns);
  attributes.Text("source", metadata.source);
  attributes.Int64("untraced_step_ns", metadata.untraced_step_ns);
  attributes.Int64Unless("tracing_call_ns", metadata.tracing_call_ns, 0);
  FillMachine(metadata.machine, attributes);
  attributes.Int64("clock_offset_ns", metadata.clock_offset_ns);
  attributes.Double("clock_drift", metadata.clock_drift);
  attributes.Int64("clock_uncertainty_ns", metadata.clock_uncertainty_ns);
  std::vector<std::string> names;
  std::vector<std::int64_t> starts_ns;
  std::vector<std::int64_t> durations_ns;
  for (const Step& step : metadata.steps) {
    names.push_back(step.name);
    starts_ns.push_back(step.start_ns);
    durations_ns.push_back(step.duration_ns);
  }
  attributes.TextList("step_names", names);
  attributes.Int64List("step_starts_ns", starts_ns);
  attributes.Int64List("step_durations_ns", durations_ns);
  if (!metadata.ranges.empty()) {
    const RangeLists ranges = ListsOf(metadata.ranges);
    attributes.TextList("range_names", ranges.names);
    attributes.Int64List("ranges", ranges.numbers);
  }
  if (!metadata.index_ranges.empty()) {
    std::vector<std::int64_t> numbers;
    for (const IndexRange& range : metadata.index_ranges) {
      numbers.insert(numbers.end(), {range.incarnation, range.low, range.high});
    }
    attributes.Int64List("index_ranges", numbers);
  }
  FillGroups(metadata.groups, attributes);
  std::vector<std::string> counters;
  std::vector<std::uint64_t> counts;
  for (const auto& [name, count] : metadata.diagnostics) {
    counters.push_back(name);
    counts.push_back(count);
  }
  attributes.TextList("diagnostics_names", counters);
  attributes.Uint64List("diagnostics_counts", counts);
  FillLink(metadata.link, attributes);
  // Last, so that its eight bytes are the last of the message: Close() patches them.
  attributes.Fixed64(kNodeCountAttribute, kNodeCountUnknown);
}

// CollectiveCommType.
std::int64_t CollectiveNumber(CommKind kind) {
  switch (kind) {
    case CommKind::kAllReduce:
      return 0;
    case CommKind::kReduce:
      return 1;
    case CommKind::kAllGather:
      return 2;
    case CommKind::kGather:
      return 3;
    case CommKind::kScatter:
      return 4;
    case CommKind::kBroadcast:
      return 5;
    case CommKind::kAllToAll:
      return 6;
    case CommKind::kReduceScatter:
      return 7;
    default:
      return 9;  // BARRIER
  }
}

std::string_view CertaintyName(GroupCertainty certainty) {
  constexpr std::array<std::string_view, 3> kNames = {"recorded", "inferred", "unknown"};
  return kNames.at(static_cast<std::size_t>(certainty));
}

void FillComm(const CommSpec& spec, std::int32_t rank, Attributes& attributes) {
  if (!IsPointToPoint(spec.kind)) {
    attributes.Int64("comm_type", CollectiveNumber(spec.kind));
  } else {
    const bool send = spec.kind == CommKind::kSend;
    attributes.Int32("comm_src", send ? rank : spec.peer);
    attributes.Int32("comm_dst", send ? spec.peer : rank);
    attributes.Int32("comm_tag",
                     spec.tag);  // simulators read it without asking whether it is there
  }
  // Simulators match the members of a collective by this size, so all have the largest.
  attributes.Int64("comm_size",
                   spec.largest_bytes >= 0 ? spec.largest_bytes : ContributedBytes(spec));
  attributes.TextUnlessEmpty("pg_name", spec.group);
  if (!IsPointToPoint(spec.kind)) {
    attributes.Int32Unless("comm_tag", spec.tag, 0);
  }
  attributes.Int64("comm_in_bytes", spec.in_bytes);
  attributes.Int64("comm_out_bytes", spec.out_bytes);
  attributes.Int64Unless("comm_largest_bytes", spec.largest_bytes, -1);
  if (!spec.in_splits.empty()) {
    attributes.Int64List("comm_in_splits", spec.in_splits);
  }
  if (!spec.out_splits.empty()) {
    attributes.Int64List("comm_out_splits", spec.out_splits);
  }
  if (spec.dtype != DType::kUnknown) {
    attributes.Text("comm_dtype", Name(spec.dtype));
  }
  attributes.Int64("comm_index", spec.index);
  attributes.Int64Unless("comm_sequence", spec.sequence, -1);
  attributes.Int32Unless("comm_root", spec.root, -1);
  attributes.Int32Unless("comm_peer", spec.peer, -1);
  attributes.Text("comm_reduce_op", Name(spec.op));
  if (spec.op_recorded) {
    attributes.Bool("comm_reduce_op_recorded", true);
  }
  if (spec.async) {
    attributes.Bool("comm_async", true);
  }
  attributes.Text("comm_certainty", CertaintyName(spec.certainty));
}

void FillDepReasons(const Node& node, Attributes& attributes) {
  constexpr std::int32_t kInferredBit = 128;
  if (node.deps.empty()) {
    return;
  }
  std::vector<std::int32_t> reasons;
  for (const Dependency& dep : node.deps) {
    reasons.push_back(static_cast<std::int32_t>(dep.reason) | (dep.inferred ? kInferredBit : 0));
  }
  attributes.Int32List("dep_reasons", reasons);
}

void FillSide(std::uint32_t field, const IoText& side, WireBuffer& out) {
  out.Nested(field, [&] {
    out.TextField(io_field::kValues, side.values);
    out.TextField(io_field::kShapes, side.shapes);
    out.TextField(io_field::kTypes, side.types);
  });
}

void FillActor(const Node& node, Attributes& attributes) {
  const bool thread = node.actor.kind == Actor::Kind::kThread;
  // Simulators run a transfer as one only if it is not a CPU operation.
  attributes.Bool("is_cpu_op", thread && !IsTransfer(node.type));
  if (!thread) {
    attributes.Text("actor", Name(node.actor.kind));
  }
  attributes.Int64(node.actor.kind == Actor::Kind::kStream ? "stream" : "tid", node.actor.id);
  attributes.Int32Unless("device", node.actor.device, -1);
}

void FillDeviceWork(const Node& node, Attributes& attributes) {
  attributes.TextUnlessEmpty("op", node.op);
  if (!node.device_work) {
    return;
  }
  const DeviceWork& work = *node.device_work;
  attributes.Int64("correlation", work.correlation);
  if (!work.launch_recorded) {
    attributes.Bool("launch_recorded", false);
  }
  constexpr std::array<std::int32_t, 3> kNotRecorded{};
  if (work.grid != kNotRecorded || work.block != kNotRecorded) {
    attributes.Int32List("grid", work.grid);
    attributes.Int32List("block", work.block);
  }
  attributes.Int32Unless("registers_per_thread", work.registers_per_thread, -1);
  attributes.Int64Unless("shared_memory_bytes", work.shared_memory_bytes, -1);
  attributes.Int64Unless("copied_bytes", work.copied_bytes, -1);
}

std::uint64_t WholeMicros(std::int64_t ns) {
  return ns > 0 ? static_cast<std::uint64_t>(ns) / 1000 : 0;
}

// Simulators stop at a device node without these two, wait without end for one with zeros, and stop
// at one of no time at all: 64 KiB are some nanoseconds on any device.
void FillCost(const Node& node, Attributes& attributes) {
  if (node.num_ops < 0 && node.tensor_bytes < 0 && node.type == NodeType::kComp &&
      node.actor.kind != Actor::Kind::kThread) {
    attributes.Int64("num_ops", 1);
    attributes.Uint64("tensor_size", 1 << 16);
    attributes.Bool("cost_known", false);
    return;
  }
  attributes.Int64Unless("num_ops", node.num_ops, -1);
  if (node.tensor_bytes >= 0) {
    attributes.Uint64("tensor_size", static_cast<std::uint64_t>(node.tensor_bytes));
  }
}

void FillAttributes(const Node& node, std::int32_t rank, Attributes& attributes) {
  attributes.Int64("start_ns", node.start_ns);
  attributes.Int64("duration_ns", node.duration_ns);
  attributes.Int64Unless("delay_ns", node.delay_ns, 0);
  attributes.Int64Unless("transfer_ns", node.transfer_ns, -1);
  attributes.Int64Unless("tracing_ns", node.tracing_ns, 0);
  attributes.Int64Unless("tracing_delay_ns", node.tracing_delay_ns, 0);
  attributes.Text("op_kind", Name(node.kind));
  attributes.Text("op_class", Name(node.op_class));
  attributes.Int32Unless("step", node.step, -1);
  attributes.Int64Unless("rf_id", node.rf_id, -1);
  attributes.Int64Unless("seq_id", node.seq_id, -1);
  attributes.TextUnlessEmpty("parent", node.parent);
  attributes.TextUnlessEmpty("op_schema", node.op_schema);
  if (node.results_inferred) {
    attributes.Bool("results_inferred", true);
  }
  FillCost(node, attributes);
  FillActor(node, attributes);
  FillDepReasons(node, attributes);
  FillDeviceWork(node, attributes);
  if (node.comm) {
    FillComm(*node.comm, rank, attributes);
  }
}

// All dependencies are data_deps, since most readers look at no other field; those that only order
// are ctrl_deps as well, as Chakra tells them apart.
void FillDependencies(const Node& node, WireBuffer& out) {
  const auto control = [](const Dependency& dep) { return IsControl(dep.reason); };
  if (std::any_of(node.deps.begin(), node.deps.end(), control)) {
    out.Nested(node_field::kCtrlDeps, [&] {
      for (const Dependency& dep : node.deps) {
        if (control(dep)) {
          out.Varint(dep.node_id);
        }
      }
    });
  }
  if (!node.deps.empty()) {
    out.Nested(node_field::kDataDeps, [&] {
      for (const Dependency& dep : node.deps) {
        out.Varint(dep.node_id);
      }
    });
  }
}

void FillNode(const Node& node, std::int32_t rank, WireBuffer& out) {
  out.VarintField(node_field::kId, node.id);
  out.TextField(node_field::kName, node.name);
  out.VarintField(node_field::kType, static_cast<std::uint64_t>(node.type));
  FillDependencies(node, out);
  out.VarintField(node_field::kStartMicros, WholeMicros(node.start_ns));
  out.VarintField(node_field::kDurationMicros, WholeMicros(node.duration_ns));
  Attributes attributes(out, node_field::kAttr);
  if (node.inputs.empty() && node.outputs.empty()) {
    FillAttributes(node, rank, attributes);
    return;
  }
  thread_local ArgText text;  // its memory, from node to node
  FormatArgs(node.inputs, node.outputs, text);
  FillSide(node_field::kInputs, text.inputs, out);
  FillSide(node_field::kOutputs, text.outputs, out);
  FillAttributes(node, rank, attributes);
  if (!text.incarnations.empty()) {
    attributes.Sint64List("tensor_incarnations", text.incarnations);
  }
  if (!text.strides.empty()) {
    attributes.Sint64List("tensor_strides", text.strides);
  }
}

// The kind of a transfer and the type of its node say the same twice.
Status CheckTransfer(const Node& node) {
  if (node.comm.has_value() != IsTransfer(node.type)) {
    return UsageError(fmt::format("node {} ({}): type {} {} a CommSpec", node.id, node.name,
                                  Name(node.type), node.comm ? "has no place for" : "needs"));
  }
  if (node.comm) {
    const NodeType expected = node.comm->kind == CommKind::kSend   ? NodeType::kCommSend
                              : node.comm->kind == CommKind::kRecv ? NodeType::kCommRecv
                                                                   : NodeType::kCommColl;
    if (node.type != expected) {
      return UsageError(fmt::format("node {} ({}): type {} but transfer {}", node.id, node.name,
                                    Name(node.type), Name(node.comm->kind)));
    }
  }
  return {};
}

// A message, preceded by its length. `what` is for the error.
Status Frame(const WireBuffer& message, std::string_view what, std::string& out) {
  if (message.bytes().size() > MessageReader::kMaxMessageBytes) {
    return BadInput(fmt::format("{} is too large for a message of an .et file: {} bytes", what,
                                message.bytes().size()));
  }
  WireBuffer length;
  length.Varint(message.bytes().size());
  out += length.bytes();
  out += message.bytes();
  return {};
}

}  // namespace

Status EncodeMetadata(const TraceMetadata& metadata, std::string& out) {
  WireBuffer message;
  FillMetadata(metadata, message);
  return Frame(message, "the metadata", out);
}

Status EncodeNode(const Node& node, std::int32_t rank, std::string& out) {
  return EncodeNode(node, rank, {}, out);
}

Status EncodeNode(const Node& node, std::int32_t rank, std::span<const TextListAttribute> more,
                  std::string& out) {
  REPRISE_TRY(CheckTransfer(node));
  thread_local WireBuffer message;  // its memory, from node to node
  message.clear();
  FillNode(node, rank, message);
  Attributes attributes(message, node_field::kAttr);
  for (const TextListAttribute& list : more) {
    attributes.TextList(list.name, list.values);
  }
  return Frame(message, node.name, out);
}

}  // namespace reprise
