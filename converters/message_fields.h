// The fields of a protobuf message as the wire has them: of Perfetto's traces and XLA's profiles,
// which are read without their schemas.
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>

#include "et_schema/wire.h"

namespace reprise {

struct MessageField {
  std::uint32_t number = 0;
  WireType type{};
  std::uint64_t bits = 0;  // of a scalar
  std::string_view bytes;  // of text and messages
  [[nodiscard]] double Real() const { return std::bit_cast<double>(bits); }
  [[nodiscard]] bool Is(std::uint32_t n, WireType of_type) const {
    return number == n && type == of_type;
  }
};

// Calls `visit` for each field of a message. False: it is malformed, or `visit` said so.
template <typename Visit>
[[nodiscard]] bool ForEachMessageField(std::string_view message, const Visit& visit) {
  for (WireCursor cursor(message); !cursor.AtEnd();) {
    MessageField field;
    if (!cursor.Tag(field.number, field.type)) {
      return false;
    }
    const bool group = field.type == WireType::kGroupStart || field.type == WireType::kGroupEnd;
    const bool read = group                            ? cursor.Skip(field.number, field.type)
                      : field.type == WireType::kBytes ? cursor.Bytes(field.bytes)
                                                       : cursor.Scalar(field.type, field.bits);
    if (!read || (!group && !visit(field))) {
      return false;
    }
  }
  return true;
}

}  // namespace reprise
