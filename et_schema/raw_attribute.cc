#include <bit>

#include "et_schema/raw_node.h"
#include "et_schema/wire.h"

namespace reprise {
namespace {

// AttributeProto's oneof: type T has field 3 + 2·T for the scalar and the next for its list.
enum class ValueType : std::uint8_t {
  kDouble,
  kFloat,
  kInt32,
  kInt64,
  kUint32,
  kUint64,
  kSint32,
  kSint64,
  kFixed32,
  kFixed64,
  kSfixed32,
  kSfixed64,
  kBool,
  kString,
  kBytes,
};
constexpr std::uint32_t kFirstValueField = 3;
constexpr std::uint32_t kLastValueField = 32;
constexpr ValueType TypeOf(std::uint32_t field) {
  return static_cast<ValueType>((field - kFirstValueField) / 2);
}

constexpr WireType WireTypeOf(ValueType type) {
  switch (type) {
    case ValueType::kDouble:
    case ValueType::kFixed64:
    case ValueType::kSfixed64:
      return WireType::kFixed64;
    case ValueType::kFloat:
    case ValueType::kFixed32:
    case ValueType::kSfixed32:
      return WireType::kFixed32;
    case ValueType::kString:
    case ValueType::kBytes:
      return WireType::kBytes;
    default:
      return WireType::kVarint;
  }
}

// Per field of AttributeProto: lists are messages.
constexpr auto kFieldWireTypes = [] {
  std::array<WireType, kLastValueField + 1> types{};
  for (std::uint32_t field = kFirstValueField; field <= kLastValueField; ++field) {
    types[field] = field % 2 == 1 ? WireTypeOf(TypeOf(field)) : WireType::kBytes;
  }
  return types;
}();

bool ToInt(ValueType type, std::uint64_t bits, std::int64_t& value) {
  switch (type) {
    // Every type that writers use for numbers and flags.
    case ValueType::kInt32:
    case ValueType::kSfixed32:
      value = static_cast<std::int32_t>(static_cast<std::uint32_t>(bits));
      return true;
    case ValueType::kUint32:
    case ValueType::kFixed32:
      value = static_cast<std::uint32_t>(bits);
      return true;
    case ValueType::kInt64:
    case ValueType::kSfixed64:
      value = static_cast<std::int64_t>(bits);
      return true;
    case ValueType::kUint64:
    case ValueType::kFixed64:
      value = static_cast<std::int64_t>(bits);
      return value >= 0;
    case ValueType::kSint32:
      value = ZigZagDecode(static_cast<std::uint32_t>(bits));
      return true;
    case ValueType::kSint64:
      value = ZigZagDecode(bits);
      return true;
    case ValueType::kBool:
      value = bits != 0 ? 1 : 0;
      return true;
    default:
      return false;
  }
}

// The whole list message, if it is one packed field of varints and nothing else, as writers make
// it.
bool AsPackedVarints(std::string_view message, ValueType type, std::vector<std::int64_t>& values) {
  WireCursor cursor(message);
  std::uint32_t field = 0;
  WireType wire{};
  std::string_view packed;
  if (!cursor.Tag(field, wire) || field != 1 || wire != WireType::kBytes || !cursor.Bytes(packed) ||
      !cursor.AtEnd()) {
    return false;
  }
  std::uint64_t bits = 0;
  for (WireCursor inner(packed); !inner.AtEnd();) {
    if (!inner.Varint(bits) || !ToInt(type, bits, values.emplace_back())) {
      return false;
    }
  }
  return true;
}

}  // namespace

WireType AttributeWireType(std::uint32_t field) { return kFieldWireTypes.at(field); }

bool RawAttribute::AsOtherInt(std::int64_t& value) const {
  return field >= kFirstValueField && !IsList() && ToInt(TypeOf(field), bits, value);
}

bool RawAttribute::AsDouble(double& value) const {
  if (field == 3) {
    value = std::bit_cast<double>(bits);
    return true;
  }
  if (field == 5) {
    value = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    return true;
  }
  return false;
}

bool RawAttribute::AsText(std::string_view& value) const {
  constexpr std::uint32_t kStringField = 29;
  value = bytes;
  return field == kStringField;
}

bool RawAttribute::AsInts(std::vector<std::int64_t>& values) const {
  values.clear();
  if (!IsList()) {
    return false;
  }
  const ValueType type = TypeOf(field);
  if (WireTypeOf(type) == WireType::kVarint && AsPackedVarints(bytes, type, values)) {
    return true;
  }
  values.clear();
  const auto add = [&](std::uint64_t element) {
    std::int64_t value = 0;
    const bool is_int = ToInt(type, element, value);
    values.push_back(value);
    return is_int;
  };
  for (WireCursor cursor(bytes); !cursor.AtEnd();) {
    std::uint32_t number = 0;
    WireType wire{};
    if (!cursor.Tag(number, wire)) {
      return false;
    }
    const bool known = number == 1 && (wire == WireType::kBytes || wire == WireTypeOf(type));
    if (!(known ? AddRepeated(cursor, wire, WireTypeOf(type), add) : cursor.Skip(number, wire))) {
      return false;
    }
  }
  return true;
}

bool RawAttribute::AsTexts(std::vector<std::string_view>& values) const {
  constexpr std::uint32_t kStringListField = 30;
  values.clear();
  if (field != kStringListField) {
    return false;
  }
  for (WireCursor cursor(bytes); !cursor.AtEnd();) {
    std::uint32_t number = 0;
    WireType wire{};
    std::string_view text;
    if (!cursor.Tag(number, wire)) {
      return false;
    }
    if (number != 1 || wire != WireType::kBytes) {
      if (!cursor.Skip(number, wire)) {
        return false;
      }
      continue;
    }
    if (!cursor.Bytes(text)) {
      return false;
    }
    values.push_back(text);
  }
  return true;
}

bool ParseAttribute(std::string_view message, RawAttribute& attribute) {
  attribute.name = attribute.bytes = {};
  attribute.field = 0;
  attribute.bits = 0;
  for (WireCursor cursor(message); !cursor.AtEnd();) {
    std::uint32_t field = 0;
    WireType wire{};
    if (!cursor.Tag(field, wire)) {
      return false;
    }
    bool ok = false;
    if (field == 1 && wire == WireType::kBytes) {
      ok = cursor.Bytes(attribute.name);
    } else if (field >= kFirstValueField && field <= kLastValueField &&
               wire == kFieldWireTypes[field]) {
      attribute.field = field;
      ok = wire == WireType::kBytes ? cursor.Bytes(attribute.bytes)
                                    : cursor.Scalar(wire, attribute.bits);
    } else {
      ok = cursor.Skip(field, wire);
    }
    if (!ok) {
      return false;
    }
  }
  return true;
}

bool RawMetadata::Parse(std::string_view message) {
  *this = {};
  bool known = message.empty();
  for (WireCursor cursor(message); !cursor.AtEnd();) {
    std::uint32_t field = 0;
    WireType wire{};
    std::string_view bytes;
    if (!cursor.Tag(field, wire)) {
      return false;
    }
    if (wire != WireType::kBytes || field > 2) {
      if (!cursor.Skip(field, wire)) {
        return false;
      }
      continue;
    }
    if (!cursor.Bytes(bytes)) {
      return false;
    }
    known = true;
    if (field == 1) {
      version = bytes;
    } else if (!ParseAttribute(bytes, attributes.emplace_back())) {
      return false;
    }
  }
  return known;  // other files' bytes may look like unknown fields
}

}  // namespace reprise
