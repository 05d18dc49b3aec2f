#include "et_schema/node_stream.h"

#include <fmt/format.h>

#include "core/input_file.h"
#include "et_schema/metadata_codec.h"

namespace reprise {

void ViewOf(const Node& node, NodeView& view) {
  view.id = node.id;
  view.name = node.name;
  view.parent = node.parent;
  view.op_schema = node.op_schema;
  view.op = node.op;
  view.type = node.type;
  view.kind = node.kind;
  view.op_class = node.op_class;
  view.actor = node.actor;
  view.deps = node.deps;
  view.start_ns = node.start_ns;
  view.duration_ns = node.duration_ns;
  view.delay_ns = node.delay_ns;
  view.transfer_ns = node.transfer_ns;
  view.tracing_ns = node.tracing_ns;
  view.tracing_delay_ns = node.tracing_delay_ns;
  view.step = node.step;
  view.rf_id = node.rf_id;
  view.seq_id = node.seq_id;
  view.comm = node.comm;
  view.device_work = node.device_work;
  view.num_ops = node.num_ops;
  view.tensor_bytes = node.tensor_bytes;
  view.results_inferred = node.results_inferred;
  EncodeArgs(node.inputs, node.outputs, view.args);
}

void CopyHeader(const NodeView& view, Node& node) {
  node.id = view.id;
  node.name = view.name;
  node.parent = view.parent;
  node.op_schema = view.op_schema;
  node.op = view.op;
  node.type = view.type;
  node.kind = view.kind;
  node.op_class = view.op_class;
  node.actor = view.actor;
  node.deps = view.deps;
  node.start_ns = view.start_ns;
  node.duration_ns = view.duration_ns;
  node.delay_ns = view.delay_ns;
  node.transfer_ns = view.transfer_ns;
  node.tracing_ns = view.tracing_ns;
  node.tracing_delay_ns = view.tracing_delay_ns;
  node.step = view.step;
  node.rf_id = view.rf_id;
  node.seq_id = view.seq_id;
  node.comm = view.comm;
  node.device_work = view.device_work;
  node.num_ops = view.num_ops;
  node.tensor_bytes = view.tensor_bytes;
  node.results_inferred = view.results_inferred;
}

Result<std::unique_ptr<NodeStream>> NodeStream::Open(const std::string& path) {
  REPRISE_ASSIGN(auto messages, MessageReader::Open(path));
  std::unique_ptr<NodeStream> stream(new NodeStream(std::move(messages)));
  REPRISE_TRY(stream->ReadMetadata());
  return stream;
}

Status NodeStream::ReadMetadata() {
  std::string_view message;
  REPRISE_ASSIGN(const bool more, messages_.Next(message));
  if (!more) {
    return BadInput(fmt::format("{}: empty, expected an .et file", messages_.path()));
  }
  RawMetadata raw;
  if (!raw.Parse(message)) {
    return BadInput(
        fmt::format("{}: the message at byte 0 is no GlobalMetadata: not an .et file, or damaged",
                    messages_.path()));
  }
  MetadataExtras extras;
  Diagnostics diagnostics;
  metadata_ = DecodeMetadata(raw, extras, diagnostics);
  decoder_.Add(diagnostics);
  if (extras.format > kFormatVersion) {
    return LaterFormat(messages_.path(), extras.format);
  }
  decoder_.set_native(extras.format > 0);
  expected_nodes_ = extras.node_count;
  return {};
}

Result<bool> NodeStream::Next(NodeView& view) {
  std::string_view message;
  REPRISE_ASSIGN(const bool more, messages_.Next(message));
  if (!more) {
    if (expected_nodes_ && *expected_nodes_ != nodes_) {
      return BadInput(fmt::format("{}: truncated: ends at byte {} after {} of {} nodes",
                                  messages_.path(), offset(), nodes_, *expected_nodes_));
    }
    return false;
  }
  // The fewest bytes that a node can have say its id.
  if (message.empty()) {
    return BadInput(fmt::format("{}: an empty message at byte {}, expected a node: damaged",
                                messages_.path(), offset()));
  }
  const std::uint64_t most = CurrentInputLimits().nodes_per_byte;
  if (nodes_ >= InputLimits::kFreeNodes && nodes_ / most > messages_.file_bytes()) {
    return OverLimit(messages_.path(),
                     fmt::format("more than {} nodes at byte {}, from a file of {} bytes", nodes_,
                                 offset(), messages_.file_bytes()),
                     "nodes_per_byte");
  }
  if (!decoder_.Decode(message, offset(), view)) {
    return BadInput(fmt::format("{}: the message at byte {} is not a node: damaged",
                                messages_.path(), offset()));
  }
  ++nodes_;
  return true;
}

}  // namespace reprise
