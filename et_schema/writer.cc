#include <memory>
#include <string>
#include <utility>

#include "et_schema/byte_stream.h"
#include "et_schema/io.h"
#include "et_schema/metadata_codec.h"

namespace reprise {
namespace {

class FileWriter : public EtWriter {
 public:
  FileWriter(std::unique_ptr<ByteSink> sink, std::int32_t rank)
      : sink_(std::move(sink)), rank_(rank) {}

  Status WriteHeader(const TraceMetadata& metadata) {
    REPRISE_TRY(EncodeMetadata(metadata, bytes_));
    node_count_offset_ = bytes_.size() - sizeof(std::uint64_t);
    return sink_->Write(bytes_);
  }

  Status Write(const Node& node) override {
    bytes_.clear();
    REPRISE_TRY(EncodeNode(node, rank_, bytes_));
    return WriteEncoded(bytes_, 1);
  }

  Status WriteEncoded(std::string_view bytes, std::uint64_t nodes) override {
    nodes_ += nodes;
    return sink_->Write(bytes);
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
  std::unique_ptr<ByteSink> sink_;
  std::int32_t rank_;
  std::uint64_t nodes_ = 0;
  std::uint64_t node_count_offset_ = 0;
  std::string bytes_;
};

}  // namespace

Result<std::unique_ptr<EtWriter>> EtWriter::Create(const std::string& path,
                                                   const TraceMetadata& metadata) {
  REPRISE_ASSIGN(auto sink, ByteSink::Create(path));
  auto writer = std::make_unique<FileWriter>(std::move(sink), metadata.rank);
  REPRISE_TRY(writer->WriteHeader(metadata));
  return writer;
}

}  // namespace reprise
