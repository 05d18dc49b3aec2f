#include <optional>

#include "et_schema/foreign_fields.h"
#include "et_schema/foreign_wire.h"
#include "et_schema/raw_node.h"

namespace reprise {
namespace {

// Name and type enum, as every attribute before 0.0.4 has them.
bool LooksLikeOldAttribute(std::string_view message) {
  bool name = false;
  bool type = false;
  const bool ok = ForEachField(message, [&](std::uint32_t field, WireType wire, WireCursor&) {
    name = name || (field == 1 && wire == WireType::kBytes);
    type = type || (field == 2 && wire == WireType::kVarint);
    return std::optional<bool>();
  });
  return ok && name && type;
}

}  // namespace

bool SchemaEvidence::AddFirst(std::string_view message) {
  bool known = message.empty();
  const bool ok = ForEachField(message, [&](std::uint32_t field, WireType wire, WireCursor& at) {
    if (field == 1 && wire == WireType::kVarint) {
      node_first = known = true;
    } else if ((field == 1 || field == 2) && wire == WireType::kBytes) {
      std::string_view bytes;
      if (!at.Bytes(bytes)) {
        return std::optional(false);
      }
      known = true;
      old_header = old_header || (field == 1 && !node_first && LooksLikeOldAttribute(bytes));
      return std::optional(true);
    }
    return std::optional<bool>();
  });
  return ok && known && (!node_first || Add(message));
}

bool SchemaEvidence::Add(std::string_view message) {
  return ForEachField(message, [&](std::uint32_t field, WireType wire, WireCursor& cursor) {
    std::string_view bytes;
    const bool varint = wire == WireType::kVarint;
    communication_fields = communication_fields || field > kOldAttributeField ||
                           (varint && field >= 7 && field <= kOldAttributeField);
    if (wire != WireType::kBytes || (field != kAttributeField && field != kOldAttributeField)) {
      return std::optional<bool>();
    }
    if (!cursor.Bytes(bytes)) {
      return std::optional(false);
    }
    if (field == kAttributeField) {
      RawAttribute raw;
      new_attributes =
          new_attributes || (ParseAttribute(bytes, raw) && !raw.name.empty() && raw.field != 0);
      return std::optional(true);
    }
    old_attributes = true;
    static_cast<void>(ForEachField(bytes, [&](std::uint32_t inner, WireType type, WireCursor&) {
      second_layout = second_layout || (inner == 5 && type == WireType::kVarint) ||
                      (inner == 6 && type == WireType::kBytes);
      return std::optional<bool>();
    }));
    return std::optional(true);
  });
}

WireSchema SchemaOf(const SchemaEvidence& evidence) {
  if (evidence.old_attributes || evidence.old_header) {
    return evidence.second_layout ? WireSchema::kSecond : WireSchema::kThird;
  }
  if (!evidence.node_first || evidence.new_attributes) {
    return WireSchema::kFourth;
  }
  return evidence.communication_fields ? WireSchema::kFirst : WireSchema::kThird;
}

}  // namespace reprise
