#include <bit>

#include "et_schema/foreign_fields.h"
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
  return ForEachField(bytes, [&](std::uint32_t number, WireType wire, WireCursor& cursor) {
    const bool known = number == 1 && (wire == WireType::kBytes || wire == WireTypeOf(type));
    return known ? std::optional(AddRepeated(cursor, wire, WireTypeOf(type), add)) : std::nullopt;
  });
}

bool RawAttribute::AsTexts(std::vector<std::string_view>& values) const {
  constexpr std::uint32_t kStringListField = 30;
  values.clear();
  const auto add = [&](std::uint32_t number, WireType wire, WireCursor& cursor) {
    return number == 1 && wire == WireType::kBytes
               ? std::optional(cursor.Bytes(values.emplace_back()))
               : std::nullopt;
  };
  return field == kStringListField && ForEachField(bytes, add);
}

bool ParseAttribute(std::string_view message, RawAttribute& attribute) {
  attribute = {};
  return ForEachField(message, [&](std::uint32_t field, WireType wire, WireCursor& cursor) {
    if (field == 1 && wire == WireType::kBytes) {
      return std::optional(cursor.Bytes(attribute.name));
    }
    if (field < kFirstValueField || field > kLastValueField || wire != kFieldWireTypes[field]) {
      return std::optional<bool>();
    }
    attribute.field = field;
    return std::optional(wire == WireType::kBytes ? cursor.Bytes(attribute.bytes)
                                                  : cursor.Scalar(wire, attribute.bits));
  });
}

bool RawMetadata::Parse(std::string_view message) {
  *this = {};
  bool known = message.empty();
  const bool ok =
      ForEachField(message, [&](std::uint32_t field, WireType wire, WireCursor& cursor) {
        if (wire != WireType::kBytes || field > 2) {
          return std::optional<bool>();
        }
        known = true;
        std::string_view bytes;
        return std::optional(field == 1 ? cursor.Bytes(version)
                                        : cursor.Bytes(bytes) &&
                                              ParseAttribute(bytes, attributes.emplace_back()));
      });
  return ok && known;  // other files' bytes may look like unknown fields
}

}  // namespace reprise
