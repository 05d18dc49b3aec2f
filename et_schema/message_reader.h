// Splits a byte stream into length-delimited messages. Only et_schema sees this.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "et_schema/byte_stream.h"

namespace reprise {

// Memory: one message, or 128 KiB. Memory grows as bytes arrive, not by the announced length.
class MessageReader {
 public:
  // Real nodes are some hundred bytes; a list of all of a model's tensors reaches megabytes.
  static constexpr std::uint64_t kMaxMessageBytes = std::uint64_t{1} << 28;

  static Result<MessageReader> Open(const std::string& path);
  // False at the end of the stream. `message` is valid until the next call.
  [[nodiscard]] Result<bool> Next(std::string_view& message);
  // Where the message last returned begins (its length prefix), in the uncompressed stream.
  [[nodiscard]] std::uint64_t offset() const { return message_offset_; }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::uint64_t file_bytes() const { return source_->file_bytes(); }

 private:
  MessageReader(std::string path, std::unique_ptr<ByteSource> source)
      : path_(std::move(path)), source_(std::move(source)) {}
  // Makes at least `bytes` bytes available from begin_; false if the stream has fewer.
  [[nodiscard]] Result<bool> Ensure(std::uint64_t bytes);
  [[nodiscard]] Result<bool> ReadLength(std::uint64_t& length);

  std::string path_;
  std::unique_ptr<ByteSource> source_;
  std::vector<std::uint8_t> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::uint64_t buffer_offset_ = 0;  // of buffer_[0] in the stream
  std::uint64_t message_offset_ = 0;
};

}  // namespace reprise
