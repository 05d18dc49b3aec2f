// Protobuf's wire format, read in place. For et_schema, and for packets of Perfetto
// (converters/pytorch/perfetto).
//
// Reading traces is what this program does all day: protobuf's generated parser builds a string per
// attribute name and a message per attribute (2-4 us a node, measured); this cursor hands out views
// into the buffer. tests/et_schema holds it to protobuf's own parser.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace reprise {

enum class WireType : std::uint8_t {
  kVarint = 0,
  kFixed64 = 1,
  kBytes = 2,
  kGroupStart = 3,
  kGroupEnd = 4,
  kFixed32 = 5,
};

// Every function returns false on malformed input; the cursor is then of no further use.
class WireCursor {
 public:
  explicit WireCursor(std::string_view bytes)
      : at_(reinterpret_cast<const std::uint8_t*>(bytes.data())), end_(at_ + bytes.size()) {}

  [[nodiscard]] bool AtEnd() const { return at_ == end_; }

  [[nodiscard]] bool Varint(std::uint64_t& value) {
    if (at_ != end_ && *at_ < 0x80) {
      value = *at_++;
      return true;
    }
    constexpr std::ptrdiff_t kMaxBytes = 10;
    const std::uint8_t* const limit = end_ - at_ > kMaxBytes ? at_ + kMaxBytes : end_;
    std::uint64_t bits = 0;
    int shift = 0;
    for (const std::uint8_t* p = at_; p != limit; ++p, shift += 7) {
      bits |= static_cast<std::uint64_t>(*p & 0x7f) << shift;
      if (*p < 0x80) {
        value = bits;
        at_ = p + 1;
        return true;
      }
    }
    return false;
  }

  [[nodiscard]] bool Tag(std::uint32_t& field, WireType& type) {
    constexpr int kTagBits = 5 * 7;  // a tag has at most five bytes; protobuf drops bits beyond 32
    std::uint64_t bits = 0;
    if (!Varint(bits) || bits >> kTagBits != 0) {
      return false;
    }
    const auto tag = static_cast<std::uint32_t>(bits);
    if (tag < 8 || (tag & 7) > 5) {
      return false;
    }
    field = tag >> 3;
    type = static_cast<WireType>(tag & 7);
    return true;
  }

  [[nodiscard]] bool Bytes(std::string_view& bytes) {
    std::uint64_t size = 0;
    if (!Varint(size) || size > static_cast<std::uint64_t>(end_ - at_)) {
      return false;
    }
    bytes = {reinterpret_cast<const char*>(at_), static_cast<std::size_t>(size)};
    at_ += size;
    return true;
  }

  // A scalar of wire type varint, fixed32 or fixed64 as its bits.
  [[nodiscard]] bool Scalar(WireType type, std::uint64_t& bits) {
    switch (type) {
      case WireType::kVarint:
        return Varint(bits);
      case WireType::kFixed32:
        return Fixed<std::uint32_t>(bits);
      case WireType::kFixed64:
        return Fixed<std::uint64_t>(bits);
      default:
        return false;
    }
  }

  // Skips a field.
  [[nodiscard]] bool Skip(std::uint32_t field, WireType type, int depth = 0) {
    std::uint64_t bits = 0;
    std::string_view bytes;
    constexpr int kMaxDepth = 64;
    switch (type) {
      case WireType::kBytes:
        return Bytes(bytes);
      case WireType::kGroupStart:
        while (depth < kMaxDepth) {
          std::uint32_t inner = 0;
          WireType inner_type{};
          if (!Tag(inner, inner_type)) {
            return false;
          }
          if (inner_type == WireType::kGroupEnd) {
            return inner == field;
          }
          if (!Skip(inner, inner_type, depth + 1)) {
            return false;
          }
        }
        return false;
      case WireType::kGroupEnd:
        return false;
      default:
        return Scalar(type, bits);
    }
  }

 private:
  template <typename T>
  bool Fixed(std::uint64_t& bits) {
    T value;
    if (static_cast<std::size_t>(end_ - at_) < sizeof(T)) {
      return false;
    }
    std::memcpy(&value, at_, sizeof(T));
    at_ += sizeof(T);
    bits = value;
    return true;
  }

  const std::uint8_t* at_;
  const std::uint8_t* end_;
};

// `repeated T field`: packed or one by one, as protobuf allows either.
template <typename Add>
bool AddRepeated(WireCursor& cursor, WireType wire, WireType element, const Add& add) {
  std::uint64_t bits = 0;
  if (wire != WireType::kBytes) {
    return cursor.Scalar(wire, bits) && add(bits);
  }
  std::string_view packed;
  if (!cursor.Bytes(packed)) {
    return false;
  }
  for (WireCursor inner(packed); !inner.AtEnd();) {
    if (!inner.Scalar(element, bits) || !add(bits)) {
      return false;
    }
  }
  return true;
}

[[nodiscard]] inline std::int64_t ZigZagDecode(std::uint64_t bits) {
  return static_cast<std::int64_t>((bits >> 1) ^ (~(bits & 1) + 1));
}
[[nodiscard]] inline std::uint64_t ZigZagEncode(std::int64_t value) {
  return (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63);
}

}  // namespace reprise
