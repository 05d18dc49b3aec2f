#include "et_schema/message_reader.h"

#include <fmt/format.h>

#include <algorithm>

namespace reprise {
namespace {

constexpr std::size_t kReadChunkBytes = std::size_t{1} << 16;
constexpr std::size_t kMaxVarintBytes = 10;

}  // namespace

Result<MessageReader> MessageReader::Open(const std::string& path) {
  REPRISE_ASSIGN(auto source, ByteSource::Open(path));
  return MessageReader(path, std::move(source));
}

Result<bool> MessageReader::Ensure(std::uint64_t bytes) {
  if (end_ - begin_ >= bytes) {
    return true;
  }
  std::copy(buffer_.begin() + static_cast<std::ptrdiff_t>(begin_),
            buffer_.begin() + static_cast<std::ptrdiff_t>(end_), buffer_.begin());
  buffer_offset_ += begin_;
  end_ -= begin_;
  begin_ = 0;
  while (end_ < bytes) {
    if (buffer_.size() - end_ < kReadChunkBytes) {
      buffer_.resize(std::max(buffer_.size() * 2, 2 * kReadChunkBytes));
    }
    REPRISE_ASSIGN(const std::size_t got, source_->Read({buffer_.data() + end_, kReadChunkBytes}));
    if (got == 0) {
      return false;
    }
    end_ += got;
  }
  return true;
}

Result<bool> MessageReader::ReadLength(std::uint64_t& length) {
  REPRISE_TRY(Ensure(kMaxVarintBytes));
  message_offset_ = buffer_offset_ + begin_;
  if (begin_ == end_) {
    return false;
  }
  length = 0;
  for (std::size_t i = 0; i < kMaxVarintBytes; ++i) {
    if (begin_ + i == end_) {
      return BadInput(fmt::format("{}: truncated: ends inside the message length at byte {}", path_,
                                  message_offset_));
    }
    const std::uint8_t byte = buffer_[begin_ + i];
    length |= static_cast<std::uint64_t>(byte & 0x7f) << (7 * i);
    if (byte < 0x80) {
      begin_ += i + 1;
      return true;
    }
  }
  return BadInput(fmt::format("{}: no message length at byte {}: not an .et file, or damaged",
                              path_, message_offset_));
}

Result<bool> MessageReader::Next(std::string_view& message) {
  std::uint64_t length = 0;
  REPRISE_ASSIGN(const bool more, ReadLength(length));
  if (!more) {
    return false;
  }
  if (length > kMaxMessageBytes) {
    return BadInput(fmt::format(
        "{}: message at byte {} announces {} bytes, over the limit of {}: not an .et file, or "
        "damaged",
        path_, message_offset_, length, kMaxMessageBytes));
  }
  REPRISE_ASSIGN(const bool complete, Ensure(length));
  if (!complete) {
    return BadInput(fmt::format("{}: truncated: message at byte {} announces {} bytes, {} are left",
                                path_, message_offset_, length, end_ - begin_));
  }
  message = {reinterpret_cast<const char*>(buffer_.data() + begin_),
             static_cast<std::size_t>(length)};
  begin_ += length;
  return true;
}

}  // namespace reprise
