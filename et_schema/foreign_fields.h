// What readers of any of Chakra's schemas share. Only et_schema sees this.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "et_schema/storage_codec.h"
#include "et_schema/storage_fields.h"
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

// A field's text, as a view or a copy.
template <typename T>
[[nodiscard]] bool ReadBytes(WireCursor& cursor, T& out) {
  std::string_view bytes;
  const bool ok = cursor.Bytes(bytes);
  out = bytes;
  return ok;
}

[[nodiscard]] inline bool AddIds(WireCursor& cursor, WireType wire,
                                 std::vector<std::uint64_t>& ids) {
  return AddRepeated(cursor, wire, WireType::kVarint, [&](std::uint64_t bits) {
    ids.push_back(bits);
    return true;
  });
}

// An IOInfo.
template <typename Io>
[[nodiscard]] bool ParseIo(std::string_view message, Io& io) {
  return ForEachField(message, [&](std::uint32_t field, WireType wire, WireCursor& cursor) {
    if (wire != WireType::kBytes || field > 3) {
      return std::optional<bool>();
    }
    auto& target = field == 1 ? io.values : field == 2 ? io.shapes : io.types;
    return std::optional(ReadBytes(cursor, target));
  });
}

// What a Node of every schema has in the same place.
template <typename Node>
[[nodiscard]] std::optional<bool> ParseCommon(std::uint32_t field, WireType wire,
                                              WireCursor& cursor, Node& node) {
  if (field == 1 && wire == WireType::kVarint) {
    return cursor.Varint(node.id);
  }
  if (field == 2 && wire == WireType::kBytes) {
    return ReadBytes(cursor, node.name);
  }
  if (field == 3 && wire == WireType::kVarint) {
    std::uint64_t bits = 0;
    const bool ok = cursor.Varint(bits);
    node.type = static_cast<std::uint32_t>(bits);
    return ok;
  }
  return std::nullopt;
}

// A field that no schema has; `times` of its own fields, where it is a message.
template <typename Node>
void NoteUnknown(std::uint32_t field, std::uint64_t times, Node& node) {
  if constexpr (requires { node.unknown_fields.push_back(field); }) {
    if (times > 0) {
      node.unknown_fields.push_back(field);
    }
  } else {
    node.unknown_fields += times;
  }
}

// A Node of schema 0.0.4 and of those after; `add_attribute` gets the message of each attribute.
template <typename Node, typename Add>
[[nodiscard]] bool ParseNode(std::string_view message, Node& node, const Add& add_attribute) {
  return ForEachField(message, [&](std::uint32_t field, WireType wire, WireCursor& cursor) {
    const bool varint = wire == WireType::kVarint;
    const bool delimited = wire == WireType::kBytes;
    std::string_view bytes;
    if (field == kAttributeField && delimited) {
      return std::optional(cursor.Bytes(bytes) && add_attribute(bytes));
    }
    if ((field == 4 || field == 5) && (varint || delimited)) {
      return std::optional(AddIds(cursor, wire, field == 4 ? node.ctrl_deps : node.data_deps));
    }
    if (field == 6 && varint) {
      return std::optional(cursor.Varint(node.start_micros));
    }
    if (field == 7 && varint) {
      std::uint64_t micros = 0;
      const bool ok = cursor.Varint(micros);
      node.duration_micros = micros;
      return std::optional(ok);
    }
    if ((field == 8 || field == 9) && delimited) {
      return std::optional(cursor.Bytes(bytes) &&
                           ParseIo(bytes, field == 8 ? node.inputs : node.outputs));
    }
    if (field == kStorageField && delimited) {
      std::uint64_t unknown = 0;
      const bool ok = cursor.Bytes(bytes) && ParseStorage(bytes, node.storage, unknown);
      NoteUnknown(field, unknown, node);
      return std::optional(ok);
    }
    const std::optional<bool> common = ParseCommon(field, wire, cursor, node);
    NoteUnknown(field, common ? 0 : 1, node);
    return common;
  });
}

}  // namespace reprise
