#include <fmt/format.h>

#include "et_schema/io.h"
#include "et_schema/node_stream.h"

namespace reprise {
namespace {

class StreamReader : public EtReader {
 public:
  StreamReader(std::string path, std::unique_ptr<NodeStream> stream)
      : path_(std::move(path)), stream_(std::move(stream)) {}

  const TraceMetadata& metadata() const override { return stream_->metadata(); }

  Result<bool> Next(Node& node) override {
    REPRISE_ASSIGN(const bool more, stream_->Next(view_));
    if (!more) {
      return false;
    }
    CopyHeader(view_, node);
    if (!DecodeArgs(view_.args.form.view(), view_.args.ids.view(), node.inputs, node.outputs)) {
      return BadInput(fmt::format("{}: node {} at byte {}: arguments cannot be decoded", path_,
                                  view_.id, stream_->offset()));
    }
    return true;
  }

  std::uint64_t offset() const override { return stream_->offset(); }
  bool native() const override { return stream_->native(); }
  const Diagnostics& diagnostics() const override { return stream_->diagnostics(); }

 private:
  std::string path_;
  std::unique_ptr<NodeStream> stream_;
  NodeView view_;
};

}  // namespace

Result<std::unique_ptr<EtReader>> EtReader::OpenAsItStands(const std::string& path) {
  REPRISE_ASSIGN(auto stream, NodeStream::OpenAsItStands(path));
  return std::make_unique<StreamReader>(path, std::move(stream));
}

Result<std::unique_ptr<EtReader>> EtReader::Open(const std::string& path) {
  REPRISE_ASSIGN(auto stream, NodeStream::Open(path));
  return std::make_unique<StreamReader>(path, std::move(stream));
}

}  // namespace reprise
