// Protobuf's wire format, written in place: the counterpart of wire.h, for the same reason (a third
// of a conversion went into building and measuring a message per attribute). Only et_schema sees
// this; tests/et_schema holds it to protobuf's own parser.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "core/utf8.h"
#include "et_schema/wire.h"

namespace reprise {

// Memory is kept from message to message: std::string::push_back was a tenth of a load's time.
class WireBuffer {
 public:
  void clear() { size_ = 0; }
  [[nodiscard]] std::string_view bytes() const { return {bytes_.data(), size_}; }

  void Varint(std::uint64_t value) {
    constexpr std::size_t kMaxBytes = 10;
    char* at = Room(kMaxBytes);
    for (; value >= 0x80; value >>= 7) {
      *at++ = static_cast<char>(value | 0x80);
    }
    *at++ = static_cast<char>(value);
    size_ = static_cast<std::size_t>(at - bytes_.data());
  }
  void ZigZag(std::int64_t value) { Varint(ZigZagEncode(value)); }
  // Negative numbers too: int32 and int64 fields hold all 64 bits.
  void Signed(std::int64_t value) { Varint(static_cast<std::uint64_t>(value)); }
  void Fixed64(std::uint64_t value) {
    char* at = Room(sizeof(value));
    for (int shift = 0; shift < 64; shift += 8) {
      *at++ = static_cast<char>(value >> shift);
    }
    size_ += sizeof(value);
  }
  void Tag(std::uint32_t field, WireType type) {
    Varint(std::uint64_t{field} << 3 | static_cast<std::uint64_t>(type));
  }

  void VarintField(std::uint32_t field, std::uint64_t value) {
    Tag(field, WireType::kVarint);
    Varint(value);
  }
  void Fixed64Field(std::uint32_t field, std::uint64_t value) {
    Tag(field, WireType::kFixed64);
    Fixed64(value);
  }
  // As they are.
  void Byte(char byte) {
    *Room(1) = byte;
    ++size_;
  }
  void Bytes(std::string_view bytes) {
    std::copy(bytes.begin(), bytes.end(), Room(bytes.size()));
    size_ += bytes.size();
  }
  // What is UTF-8 for certain.
  void BytesField(std::uint32_t field, std::string_view bytes) {
    Tag(field, WireType::kBytes);
    Varint(bytes.size());
    Bytes(bytes);
  }
  // protobuf refuses to read strings that are not UTF-8.
  void TextField(std::uint32_t field, std::string_view text) {
    if (IsValidUtf8(text)) {
      BytesField(field, text);
    } else {
      BytesField(field, ReplaceInvalidUtf8(text));
    }
  }
  // A message, or a packed list: whatever `fill` writes, preceded by its length.
  template <typename Fill>
  void Nested(std::uint32_t field, const Fill& fill) {
    Tag(field, WireType::kBytes);
    const std::size_t at = size_;
    Varint(0);  // one byte is enough for most
    fill();
    const std::size_t length = size_ - at - 1;
    std::size_t more = 0;
    for (std::size_t left = length >> 7; left > 0; left >>= 7) {
      ++more;
    }
    if (more > 0) {
      char* const content = Room(more) - length;
      std::memmove(content + more, content, length);
    }
    size_ = at;
    Varint(length);
    size_ += length;
  }

 private:
  char* Room(std::size_t bytes) {
    if (bytes_.size() < size_ + bytes) {
      bytes_.resize(2 * (size_ + bytes));
    }
    return bytes_.data() + size_;
  }

  std::string bytes_;  // longer than what was written
  std::size_t size_ = 0;
};

}  // namespace reprise
