#include "et_schema/node_stream.h"

#include <fmt/format.h>

#include "core/input_file.h"
#include "et_schema/metadata_codec.h"

namespace reprise {

namespace {

// Between a node and a view, both ways: everything but the arguments.
template <typename From, typename To>
void CopyFields(const From& from, To& to) {
  to.id = from.id;
  to.name = from.name;
  to.type = from.type;
  to.actor = from.actor;
  to.deps = from.deps;
  ForEachMember(kNodeFieldsOf<From>, kNodeFieldsOf<To>,
                [&](const auto& of, const auto& in) { in.Of(to) = of.Of(from); });
  to.device_work = from.device_work;
  to.comm = from.comm;
  to.storage = from.storage;
}

}  // namespace

void ViewOf(const Node& node, NodeView& view) {
  CopyFields(node, view);
  EncodeArgs(node.inputs, node.outputs, view.args);
}

void CopyHeader(const NodeView& view, Node& node) { CopyFields(view, node); }

Result<std::unique_ptr<NodeStream>> NodeStream::Open(const std::string& path) {
  REPRISE_ASSIGN(std::optional<FoldedRank> folded, FindFoldedRank(path));
  REPRISE_ASSIGN(auto stream, OpenAsItStands(folded ? folded->file : path));
  if (folded) {
    stream->metadata_.rank = folded->rank;
    stream->metadata_.world_size = folded->classes->world_size();
    stream->folded_ = std::move(folded);
  }
  return stream;
}

Result<std::unique_ptr<NodeStream>> NodeStream::OpenAsItStands(const std::string& path) {
  REPRISE_ASSIGN(auto messages, MessageReader::Open(path));
  std::unique_ptr<NodeStream> stream(new NodeStream(std::move(messages)));
  REPRISE_TRY(stream->ReadMetadata());
  return stream;
}

Result<std::unique_ptr<EtReader>> EtReader::Open(const std::string& path) {
  return NodeStream::Open(path);
}

Result<std::unique_ptr<EtReader>> EtReader::OpenAsItStands(const std::string& path) {
  return NodeStream::OpenAsItStands(path);
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
  REPRISE_TRY(CheckNodeCount(messages_.path(), nodes_, offset(), messages_.file_bytes()));
  if (!decoder_.Decode(message, offset(), view)) {
    return BadInput(fmt::format("{}: the message at byte {} is not a node: damaged",
                                messages_.path(), offset()));
  }
  ++nodes_;
  if (folded_ && view.comm) {
    if (const Status resolved = folded_->classes->Resolve(folded_->rank, *view.comm); !resolved) {
      return BadInput(
          fmt::format("{}: node {}: {}", messages_.path(), view.id, resolved.error().message));
    }
  }
  return true;
}

Result<bool> NodeStream::Next(Node& node) {
  REPRISE_ASSIGN(const bool more, Next(view_));
  if (!more) {
    return false;
  }
  CopyHeader(view_, node);
  if (!DecodeArgs(view_.args, node.inputs, node.outputs)) {
    return BadInput(fmt::format("{}: node {} at byte {}: arguments cannot be decoded",
                                messages_.path(), view_.id, offset()));
  }
  return true;
}

}  // namespace reprise
