// What readers of any of Chakra's schemas share. Only et_schema sees this.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "et_schema/wire.h"

namespace reprise {

// Of a Node's attributes: of schema 0.0.4, and of those before.
inline constexpr std::uint32_t kOldAttributeField = 11;
inline constexpr std::uint32_t kAttributeField = 10;

// Calls `visit(field, wire type, cursor)`, which returns false where it read nothing.
template <typename Visit>
bool ForEachField(std::string_view message, const Visit& visit) {
  for (WireCursor cursor(message); !cursor.AtEnd();) {
    std::uint32_t field = 0;
    WireType wire{};
    if (!cursor.Tag(field, wire)) {
      return false;
    }
    const std::optional<bool> ok = visit(field, wire, cursor);
    if (!(ok ? *ok : cursor.Skip(field, wire))) {
      return false;
    }
  }
  return true;
}

}  // namespace reprise
