// Nodes of a file one by one: half decoded for Graph, whole as EtReader has them. Only et_schema
// sees this.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/diagnostics.h"
#include "core/result.h"
#include "et_schema/args.h"
#include "et_schema/io.h"
#include "et_schema/message_reader.h"
#include "et_schema/node.h"
#include "et_schema/rank_classes.h"
#include "et_schema/raw_node.h"

namespace reprise {

// Node, with views for its strings and a tape for its arguments. Reused from node to node.
struct NodeView : NodeFields<std::string_view> {
  std::uint64_t id = 0;
  std::string_view name;
  NodeType type = NodeType::kInvalid;
  Actor actor;
  std::vector<Dependency> deps;
  std::optional<DeviceWork> device_work;
  std::optional<CommSpec> comm;
  std::optional<StorageWork> storage;
  ArgTape args;
};
// `view` points into `node`.
void ViewOf(const Node& node, NodeView& view);
// Everything but the arguments.
void CopyHeader(const NodeView& view, Node& node);

// One node → NodeView; what a foreign file lacks is derived here (node_decode.cc).
class NodeDecoder {
 public:
  explicit NodeDecoder(std::string path) : path_(std::move(path)) {}
  // Written by Reprise (a foreign file lacks most attributes: nothing to complain about).
  void set_native(bool native) { native_ = native; }
  [[nodiscard]] bool native() const { return native_; }
  // False: not a Node. `offset` is for messages; the view's strings are valid until the next call
  // and while `message` is.
  [[nodiscard]] bool Decode(std::string_view message, std::uint64_t offset, NodeView& view);
  // Of a node that another source filled in; its texts are then the view's.
  [[nodiscard]] RawNode& raw() { return raw_; }
  void DecodeRaw(std::uint64_t offset, NodeView& view);
  [[nodiscard]] const Diagnostics& diagnostics();
  void Add(const Diagnostics& other) { diagnostics_.Merge(other); }

 private:
  // The row's value into its member of `owner`.
  template <typename Row, typename Owner>
  void Take(const Row& row, Owner& owner);
  void DecodeKind(NodeView& view);
  void DecodeActor(NodeView& view);
  void DecodeDeps(NodeView& view);
  void DecodeComm(NodeView& view);
  void DecodeDeviceWork(NodeView& view);
  void DecodeStorage(NodeView& view);
  void DecodeCommKind(CommSpec& spec);
  void DeriveComm(CommSpec& spec);
  void DecodeArgs(NodeView& view);
  // Valid UTF-8, in `scratch` if it had to be repaired.
  std::string_view Clean(std::string_view text, std::string& scratch);
  void Count(std::string_view name);
  void CountNamed(std::string_view counter, const std::vector<std::string_view>& attributes);

  std::string path_;
  bool native_ = false;
  std::uint64_t offset_ = 0;
  RawNode raw_;
  ArgTextParser arg_parser_;
  std::string clean_name_;
  std::array<std::string, kAttributeCount> clean_texts_;
  Diagnostics diagnostics_;
  // Seen per attribute name; goes to diagnostics_ in bulk, as it may happen for every node.
  std::map<std::string, std::uint64_t, std::less<>> pending_;
  // Foreign files: transfers so far of each sequence.
  std::map<std::string, std::int64_t> next_index_;
};

class NodeStream : public EtReader {
 public:
  // As EtReader's. Of a rank of a folded set (FindFoldedRank), the nodes are those of its class,
  // with the groups, peers and roots of this rank.
  static Result<std::unique_ptr<NodeStream>> Open(const std::string& path);
  static Result<std::unique_ptr<NodeStream>> OpenAsItStands(const std::string& path);
  [[nodiscard]] const TraceMetadata& metadata() const override { return metadata_; }
  [[nodiscard]] Result<bool> Next(Node& node) override;
  // The view's strings are valid until the next call.
  [[nodiscard]] Result<bool> Next(NodeView& view);
  [[nodiscard]] const Diagnostics& diagnostics() override { return decoder_.diagnostics(); }
  [[nodiscard]] std::uint64_t offset() const override { return messages_.offset(); }
  [[nodiscard]] bool native() const override { return decoder_.native(); }
  // On disk, of what the nodes are read from.
  [[nodiscard]] std::uint64_t file_bytes() const { return messages_.file_bytes(); }
  // Nodes that the header promises, if it does.
  [[nodiscard]] std::optional<std::uint64_t> expected_nodes() const { return expected_nodes_; }

 private:
  explicit NodeStream(MessageReader messages)
      : messages_(std::move(messages)), decoder_(messages_.path()) {}
  [[nodiscard]] Status ReadMetadata();

  MessageReader messages_;
  NodeDecoder decoder_;
  TraceMetadata metadata_;
  std::optional<std::uint64_t> expected_nodes_;
  std::uint64_t nodes_ = 0;
  std::optional<FoldedRank> folded_;
  NodeView view_;
};

// The value of kNodeCountMark, a trailer that cannot be had in a stream: Close() patches it where
// the file is not compressed (compressed streams have an end mark of their own).
inline constexpr std::uint64_t kNodeCountUnknown = ~std::uint64_t{0};
// The value of kFormatMark. Files of a later version are refused.
inline constexpr std::int32_t kFormatVersion = 1;

}  // namespace reprise
