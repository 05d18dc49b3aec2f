// Node → Chakra's messages, through protobuf's generated classes: compatible by construction.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "et_schema/args.h"
#include "et_schema/byte_stream.h"
#include "et_schema/et_def.pb.h"
#include "et_schema/io.h"
#include "et_schema/node_stream.h"
#include "et_schema/utf8.h"

namespace reprise {
namespace {

namespace pb = ChakraProtoMsg;

// protobuf refuses to read strings that are not UTF-8.
std::string Clean(std::string_view text) {
  return IsValidUtf8(text) ? std::string(text) : ReplaceInvalidUtf8(text);
}

// Adds attributes to a Node or GlobalMetadata message.
template <typename Message>
class Attributes {
 public:
  explicit Attributes(Message& message) : message_(message) {}

  void Bool(std::string_view name, bool value) { Add(name).set_bool_val(value); }
  void Int32(std::string_view name, std::int32_t value) { Add(name).set_int32_val(value); }
  void Int64(std::string_view name, std::int64_t value) { Add(name).set_int64_val(value); }
  void Double(std::string_view name, double value) { Add(name).set_double_val(value); }
  void Text(std::string_view name, std::string_view value) {
    Add(name).set_string_val(Clean(value));
  }
  void TextUnlessEmpty(std::string_view name, std::string_view value) {
    if (!value.empty()) {
      Text(name, value);
    }
  }
  void Int32Unless(std::string_view name, std::int32_t value, std::int32_t absent) {
    if (value != absent) {
      Int32(name, value);
    }
  }
  void Int64Unless(std::string_view name, std::int64_t value, std::int64_t absent) {
    if (value != absent) {
      Int64(name, value);
    }
  }
  pb::AttributeProto& Add(std::string_view name) {
    pb::AttributeProto& attribute = *message_.add_attr();
    attribute.set_name(std::string(name));
    return attribute;
  }

 private:
  Message& message_;
};

template <typename List, typename Values>
void Fill(List& list, const Values& values) {
  list.mutable_values()->Add(values.begin(), values.end());
}

template <typename Message>
void FillLink(const LinkReport& link, Attributes<Message>& attributes) {
  if (link.method.empty()) {
    return;
  }
  attributes.Text("link_method", link.method);
  attributes.Text("link_choice", link.choice);
  auto& numbers = *attributes.Add("link_numbers").mutable_int64_list();
  for (const std::int64_t number : LinkNumbers(link)) {
    numbers.add_values(number);
  }
  auto& threads = *attributes.Add("link_threads").mutable_int64_list();
  for (const LinkReport::Thread& thread : link.threads) {
    for (const std::int64_t number : LinkNumbers(thread)) {
      threads.add_values(number);
    }
  }
  auto& unmatched = *attributes.Add("link_unmatched").mutable_string_list();
  for (const std::string& record : link.unmatched) {
    unmatched.add_values(Clean(record));
  }
}

void FillMetadata(const TraceMetadata& metadata, pb::GlobalMetadata& message) {
  message.set_version(Clean(metadata.version));
  Attributes attributes(message);
  attributes.Int32(kFormatAttribute, kFormatVersion);
  attributes.Int32("rank", metadata.rank);
  attributes.Int32("world_size", metadata.world_size);
  attributes.Int64("base_ns", metadata.base_ns);
  attributes.Text("source", metadata.source);
  attributes.Int64("untraced_step_ns", metadata.untraced_step_ns);
  attributes.Int64("clock_offset_ns", metadata.clock_offset_ns);
  attributes.Double("clock_drift", metadata.clock_drift);
  attributes.Int64("clock_uncertainty_ns", metadata.clock_uncertainty_ns);
  auto& names = *attributes.Add("step_names").mutable_string_list();
  auto& starts = *attributes.Add("step_starts_ns").mutable_int64_list();
  auto& durations = *attributes.Add("step_durations_ns").mutable_int64_list();
  for (const Step& step : metadata.steps) {
    names.add_values(Clean(step.name));
    starts.add_values(step.start_ns);
    durations.add_values(step.duration_ns);
  }
  auto& counters = *attributes.Add("diagnostics_names").mutable_string_list();
  auto& counts = *attributes.Add("diagnostics_counts").mutable_uint64_list();
  for (const auto& [name, count] : metadata.diagnostics) {
    counters.add_values(name);
    counts.add_values(count);
  }
  FillLink(metadata.link, attributes);
  // Last, so that its eight bytes are the last of the message: Close() patches them.
  attributes.Add(kNodeCountAttribute).set_fixed64_val(kNodeCountUnknown);
}

pb::CollectiveCommType CollectiveType(CommKind kind) {
  switch (kind) {
    case CommKind::kAllReduce:
      return pb::ALL_REDUCE;
    case CommKind::kReduce:
      return pb::REDUCE;
    case CommKind::kAllGather:
      return pb::ALL_GATHER;
    case CommKind::kGather:
      return pb::GATHER;
    case CommKind::kScatter:
      return pb::SCATTER;
    case CommKind::kBroadcast:
      return pb::BROADCAST;
    case CommKind::kAllToAll:
      return pb::ALL_TO_ALL;
    case CommKind::kReduceScatter:
      return pb::REDUCE_SCATTER;
    default:
      return pb::BARRIER;
  }
}

std::string_view CertaintyName(GroupCertainty certainty) {
  constexpr std::array<std::string_view, 3> kNames = {"recorded", "inferred", "unknown"};
  return kNames.at(static_cast<std::size_t>(certainty));
}

void FillComm(const CommSpec& spec, std::int32_t rank, pb::Node& message) {
  Attributes attributes(message);
  if (!IsPointToPoint(spec.kind)) {
    attributes.Int64("comm_type", CollectiveType(spec.kind));
  } else {
    const bool send = spec.kind == CommKind::kSend;
    attributes.Int32("comm_src", send ? rank : spec.peer);
    attributes.Int32("comm_dst", send ? spec.peer : rank);
  }
  attributes.Int64("comm_size", std::max(spec.in_bytes, spec.out_bytes));
  attributes.TextUnlessEmpty("pg_name", spec.group);
  attributes.Int32Unless("comm_tag", spec.tag, 0);
  attributes.Int64("comm_in_bytes", spec.in_bytes);
  attributes.Int64("comm_out_bytes", spec.out_bytes);
  if (!spec.in_splits.empty()) {
    Fill(*attributes.Add("comm_in_splits").mutable_int64_list(), spec.in_splits);
  }
  if (!spec.out_splits.empty()) {
    Fill(*attributes.Add("comm_out_splits").mutable_int64_list(), spec.out_splits);
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

void FillDeps(const Node& node, pb::Node& message) {
  constexpr std::int32_t kInferredBit = 128;
  if (node.deps.empty()) {
    return;
  }
  auto& reasons = *Attributes(message).Add("dep_reasons").mutable_int32_list();
  for (const Dependency& dep : node.deps) {
    message.add_data_deps(dep.node_id);
    reasons.add_values(static_cast<std::int32_t>(dep.reason) | (dep.inferred ? kInferredBit : 0));
  }
}

void FillArgs(const Node& node, pb::Node& message) {
  if (node.inputs.empty() && node.outputs.empty()) {
    return;
  }
  ArgText text = FormatArgs(node.inputs, node.outputs);
  const auto side = [](IoText& from, pb::IOInfo& to) {
    to.set_values(Clean(from.values));
    to.set_shapes(std::move(from.shapes));
    to.set_types(std::move(from.types));
  };
  side(text.inputs, *message.mutable_inputs());
  side(text.outputs, *message.mutable_outputs());
  Attributes attributes(message);
  if (!text.incarnations.empty()) {
    Fill(*attributes.Add("tensor_incarnations").mutable_sint64_list(), text.incarnations);
  }
  if (!text.strides.empty()) {
    Fill(*attributes.Add("tensor_strides").mutable_sint64_list(), text.strides);
  }
}

void FillActor(const Node& node, pb::Node& message) {
  Attributes attributes(message);
  const bool thread = node.actor.kind == Actor::Kind::kThread;
  // Simulators run a transfer as one only if it is not a CPU operation.
  attributes.Bool("is_cpu_op", thread && !IsTransfer(node.type));
  if (!thread) {
    attributes.Text("actor", Name(node.actor.kind));
  }
  attributes.Int64(node.actor.kind == Actor::Kind::kStream ? "stream" : "tid", node.actor.id);
  attributes.Int32Unless("device", node.actor.device, -1);
}

void FillDeviceWork(const Node& node, pb::Node& message) {
  Attributes attributes(message);
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
    Fill(*attributes.Add("grid").mutable_int32_list(), work.grid);
    Fill(*attributes.Add("block").mutable_int32_list(), work.block);
  }
  attributes.Int32Unless("registers_per_thread", work.registers_per_thread, -1);
  attributes.Int64Unless("shared_memory_bytes", work.shared_memory_bytes, -1);
  attributes.Int64Unless("copied_bytes", work.copied_bytes, -1);
}

std::uint64_t WholeMicros(std::int64_t ns) {
  return ns > 0 ? static_cast<std::uint64_t>(ns) / 1000 : 0;
}

void FillNode(const Node& node, std::int32_t rank, pb::Node& message) {
  message.set_id(node.id);
  message.set_name(Clean(node.name));
  message.set_type(static_cast<pb::NodeType>(node.type));
  message.set_start_time_micros(WholeMicros(node.start_ns));
  message.set_duration_micros(WholeMicros(node.duration_ns));
  Attributes attributes(message);
  attributes.Int64("start_ns", node.start_ns);
  attributes.Int64("duration_ns", node.duration_ns);
  attributes.Int64Unless("delay_ns", node.delay_ns, 0);
  attributes.Int64Unless("transfer_ns", node.transfer_ns, -1);
  attributes.Text("op_kind", Name(node.kind));
  attributes.Text("op_class", Name(node.op_class));
  attributes.Int32Unless("step", node.step, -1);
  attributes.Int64Unless("rf_id", node.rf_id, -1);
  attributes.Int64Unless("seq_id", node.seq_id, -1);
  attributes.TextUnlessEmpty("parent", node.parent);
  attributes.TextUnlessEmpty("op_schema", node.op_schema);
  attributes.Int64Unless("num_ops", node.num_ops, -1);
  if (node.tensor_bytes >= 0) {
    attributes.Add("tensor_size").set_uint64_val(static_cast<std::uint64_t>(node.tensor_bytes));
  }
  FillActor(node, message);
  FillDeps(node, message);
  FillDeviceWork(node, message);
  if (node.comm) {
    FillComm(*node.comm, rank, message);
  }
  FillArgs(node, message);
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

class FileWriter : public EtWriter {
 public:
  FileWriter(std::string path, std::unique_ptr<ByteSink> sink, std::int32_t rank)
      : path_(std::move(path)), sink_(std::move(sink)), rank_(rank) {}

  Status WriteHeader(const TraceMetadata& metadata) {
    pb::GlobalMetadata message;
    FillMetadata(metadata, message);
    REPRISE_TRY(Emit(message));
    node_count_offset_ = bytes_.size() - sizeof(std::uint64_t);
    return {};
  }

  Status Write(const Node& node) override {
    REPRISE_TRY(CheckTransfer(node));
    message_.Clear();
    FillNode(node, rank_, message_);
    ++nodes_;
    return Emit(message_);
  }

  Status Close() override {
    std::string count(sizeof(std::uint64_t), '\0');
    for (std::size_t i = 0; i < count.size(); ++i) {
      count[i] = static_cast<char>(nodes_ >> (8 * i));
    }
    REPRISE_TRY(sink_->Patch(node_count_offset_, count));
    return sink_->Commit();
  }

 private:
  template <typename Message>
  [[nodiscard]] Status Emit(const Message& message) {
    bytes_.clear();
    for (std::size_t size = message.ByteSizeLong();; size >>= 7) {
      if (size < 0x80) {
        bytes_ += static_cast<char>(size);
        break;
      }
      bytes_ += static_cast<char>(size | 0x80);
    }
    if (!message.AppendToString(&bytes_)) {
      return BadInput(fmt::format("{}: node {} is too large for a message", path_, nodes_));
    }
    return sink_->Write(bytes_);
  }

  std::string path_;
  std::unique_ptr<ByteSink> sink_;
  std::int32_t rank_;
  std::uint64_t nodes_ = 0;
  std::uint64_t node_count_offset_ = 0;
  pb::Node message_;
  std::string bytes_;
};

}  // namespace

Result<std::unique_ptr<EtWriter>> EtWriter::Create(const std::string& path,
                                                   const TraceMetadata& metadata) {
  REPRISE_ASSIGN(auto sink, ByteSink::Create(path));
  auto writer = std::make_unique<FileWriter>(path, std::move(sink), metadata.rank);
  REPRISE_TRY(writer->WriteHeader(metadata));
  return writer;
}

}  // namespace reprise
