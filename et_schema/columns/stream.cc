#include <algorithm>

#include "et_schema/columns.h"
#include "et_schema/columns/block_coding.h"
#include "et_schema/columns/split.h"
#include "et_schema/wire.h"

namespace reprise {

Status ColumnsEncoder::Add(std::string_view bytes) {
  buffer_ += bytes;
  while (buffer_.size() >= columns::kMaxBlockBytes) {
    REPRISE_TRY(EncodeBlock());
  }
  return {};
}

Status ColumnsEncoder::Finish() {
  while (!buffer_.empty()) {
    REPRISE_TRY(EncodeBlock());
  }
  return {};
}

Status ColumnsEncoder::EncodeBlock() {
  columns::Splitter splitter;
  WireCursor cursor(buffer_);
  std::string_view message;
  const char* end = buffer_.data();
  while (splitter.messages() < columns::kMaxMessages && cursor.Bytes(message) &&
         columns::FramedBytes(message) <= columns::kMaxMessageBytes &&
         splitter.bytes() + columns::FramedBytes(message) <= columns::kMaxBlockBytes) {
    splitter.Add(message, first_ && splitter.messages() == 0);
    end = message.data() + message.size();
  }
  const std::uint64_t bytes = splitter.bytes();
  // Lengths that are longer than need be would come back shorter.
  if (bytes == 0 || end != buffer_.data() + bytes) {
    return BadInput("no sequence of messages of up to 15 MiB, each after its length");
  }
  std::string out;
  if (!columns::EncodeBlock(splitter.Take(), out)) {
    return BadInput("more kinds of fields than columns have room for");
  }
  first_ = false;
  buffer_.erase(0, bytes);
  return put_(out);
}

Status ColumnsDecoder::Add(std::string_view columns) {
  buffer_ += columns;
  for (;;) {
    REPRISE_ASSIGN(const bool more, DecodeBlock());
    if (!more) {
      return {};
    }
  }
}

Result<bool> ColumnsDecoder::DecodeBlock() {
  WireCursor cursor(buffer_);
  columns::BlockHeader header;
  std::string_view texts;
  std::string_view codes;
  if (!cursor.Varint(header.bytes) || !cursor.Varint(header.messages) ||
      !cursor.Varint(header.text_bytes) || !cursor.Varint(header.coded_bytes)) {
    constexpr std::size_t kMaxHeaderBytes = 40;
    return buffer_.size() < kMaxHeaderBytes ? Result<bool>(false)
                                            : BadInput("damaged columns: no block begins");
  }
  constexpr std::uint64_t kCodesBeside = 4096;
  if (last_ || header.bytes > left_ || header.bytes > columns::kMaxBlockBytes ||
      header.messages == 0 || header.messages > columns::kMaxMessages ||
      header.text_bytes > header.bytes || header.coded_bytes > 2 * header.bytes + kCodesBeside) {
    return BadInput("damaged columns: a block is larger than it may be");
  }
  if (!cursor.Take(header.text_bytes, texts) || !cursor.Take(header.coded_bytes, codes)) {
    return false;
  }
  block_.clear();
  REPRISE_TRY(columns::DecodeBlock(header, texts, codes, block_));
  left_ -= header.bytes;
  last_ = header.bytes < columns::kMinBlockBytes;
  buffer_.erase(0, static_cast<std::size_t>(codes.data() + codes.size() - buffer_.data()));
  REPRISE_TRY(put_(block_));
  return true;
}

Status ColumnsDecoder::Finish() {
  return buffer_.empty() && left_ == 0 ? Status{} : BadInput("damaged columns: they end too early");
}

}  // namespace reprise
