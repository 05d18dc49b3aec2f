#include "et_schema/foreign_wire.h"

#include <array>
#include <bit>
#include <limits>
#include <optional>

#include "et_schema/foreign_fields.h"
#include "et_schema/raw_node.h"

namespace reprise {
namespace {

std::uint32_t TypeWithMetadata(std::uint64_t type) {
  constexpr std::uint64_t kLast = 6;  // of the enum that had no METADATA_NODE
  return static_cast<std::uint32_t>(type == 0 ? 0 : type <= kLast ? type + 1 : type);
}

// The collectives' numbers before 0.0.4: all_reduce, all_to_all, all_gather, reduce_scatter,
// broadcast.
std::int64_t CollectiveType(std::int64_t old) {
  constexpr std::array<std::int64_t, 5> kToday = {0, 6, 2, 7, 5};
  return old >= 0 && static_cast<std::size_t>(old) < kToday.size()
             ? kToday.at(static_cast<std::size_t>(old))
             : std::numeric_limits<std::int32_t>::max();  // counted as unknown later
}

// Values of an attribute before 0.0.4: fields 4 and up, distinguished by their encoding.
struct OldValues {
  std::vector<std::int64_t> ints;
  std::vector<double> floats;
  std::vector<std::string> texts;
  bool list = false;

  bool Add(WireCursor& cursor, WireType wire) {
    std::uint64_t bits = 0;
    std::string_view bytes;
    if (wire == WireType::kBytes) {
      const bool ok = cursor.Bytes(bytes);
      texts.emplace_back(bytes);
      return ok;
    }
    const bool ok = cursor.Scalar(wire, bits);
    if (wire == WireType::kFixed32) {
      floats.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
    } else {
      ints.push_back(static_cast<std::int64_t>(bits));
    }
    return ok;
  }

  decltype(ForeignAttribute::value) Take() {
    if (!texts.empty()) {
      return list ? decltype(ForeignAttribute::value)(std::move(texts)) : std::move(texts.back());
    }
    if (!floats.empty()) {
      return list ? decltype(ForeignAttribute::value)(std::move(floats)) : floats.back();
    }
    if (list) {
      return std::move(ints);
    }
    return ints.empty() ? 0 : ints.back();
  }
};

bool ParseOldAttribute(std::string_view message, WireSchema schema, ForeignAttribute& attribute) {
  constexpr std::uint32_t kFirstValue = 4;
  OldValues values;
  const bool ok =
      ForEachField(message, [&](std::uint32_t field, WireType wire, WireCursor& cursor) {
        if (field == 1 && wire == WireType::kBytes) {
          return std::optional(ReadBytes(cursor, attribute.name));
        }
        const bool value =
            wire == WireType::kBytes || wire == WireType::kVarint || wire == WireType::kFixed32;
        if (field < kFirstValue || !value) {
          return std::optional<bool>();
        }
        // The last scalar is field 6 in 0.0.2, 7 in 0.0.3, and a string in 8 later in 0.0.3.
        values.list = values.list || (schema == WireSchema::kSecond && field > 6) || field > 8 ||
                      (field == 8 && wire == WireType::kVarint);
        return std::optional(values.Add(cursor, wire));
      });
  attribute.value = values.Take();
  return ok;
}

bool AddDoubles(std::string_view list, WireType element, std::vector<double>& out) {
  return ForEachField(list, [&](std::uint32_t field, WireType wire, WireCursor& cursor) {
    if (field != 1 || (wire != WireType::kBytes && wire != element)) {
      return std::optional<bool>();
    }
    return std::optional(AddRepeated(cursor, wire, element, [&](std::uint64_t bits) {
      out.push_back(element == WireType::kFixed64
                        ? std::bit_cast<double>(bits)
                        : std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
      return true;
    }));
  });
}

bool ParseNewAttribute(std::string_view message, ForeignAttribute& attribute) {
  constexpr std::uint32_t kDoubleList = 4;
  constexpr std::uint32_t kFloatList = 6;
  constexpr std::uint32_t kBool = 27;
  constexpr std::uint32_t kBytes = 31;
  RawAttribute raw;
  if (!ParseAttribute(message, raw)) {
    return false;
  }
  attribute.name = raw.name;
  std::int64_t number = 0;
  double real = 0;
  std::string_view text;
  std::vector<std::string_view> texts;
  std::vector<std::int64_t> numbers;
  if (raw.field == kBool) {
    attribute.value = raw.bits != 0;
  } else if (raw.AsInt(number)) {
    attribute.value = number;
  } else if (raw.AsDouble(real)) {
    attribute.value = real;
  } else if (raw.AsText(text) || raw.field == kBytes) {
    attribute.value = std::string(raw.bytes);
  } else if (raw.field == kDoubleList || raw.field == kFloatList) {
    std::vector<double> reals;
    const WireType element = raw.field == kDoubleList ? WireType::kFixed64 : WireType::kFixed32;
    if (!AddDoubles(raw.bytes, element, reals)) {
      return false;
    }
    attribute.value = std::move(reals);
  } else if (raw.AsTexts(texts)) {
    attribute.value = std::vector<std::string>(texts.begin(), texts.end());
  } else if (raw.IsList() && raw.AsInts(numbers)) {
    attribute.value = std::move(numbers);
  } else if (raw.field != 0 && !raw.IsList()) {
    attribute.value = static_cast<double>(raw.bits);  // unsigned, beyond 2^63
  } else {
    attribute.value = std::string();
  }
  return true;
}

// Today's names and numbers for what an old attribute says.
void Modernize(WireSchema schema, ForeignNode& node) {
  if (schema == WireSchema::kSecond) {
    node.type = TypeWithMetadata(node.type);
  }
  for (ForeignAttribute& attribute : node.attributes) {
    if (attribute.name == "comm_type") {
      attribute.value = CollectiveType(attribute.AsInt(-1));
    } else if (attribute.name == "runtime" && attribute.AsInt(0) > 0) {
      node.duration_micros = static_cast<std::uint64_t>(attribute.AsInt(0));
    }
  }
  std::erase_if(node.attributes, [](const ForeignAttribute& a) { return a.name == "runtime"; });
}

bool ParseWithStrings(std::string_view message, WireSchema schema, ForeignNode& node) {
  const std::array<std::string*, 6> texts = {&node.inputs.values,  &node.inputs.shapes,
                                             &node.inputs.types,   &node.outputs.values,
                                             &node.outputs.shapes, &node.outputs.types};
  const bool ok =
      ForEachField(message, [&](std::uint32_t field, WireType wire, WireCursor& cursor) {
        const bool delimited = wire == WireType::kBytes;
        std::string_view bytes;
        if (field == 4 && (delimited || wire == WireType::kVarint)) {
          return std::optional(AddIds(cursor, wire, node.data_deps));
        }
        if (field >= 5 && field <= 10 && delimited) {
          return std::optional(ReadBytes(cursor, *texts.at(field - 5)));
        }
        if (field == kOldAttributeField && delimited) {
          return std::optional(cursor.Bytes(bytes) &&
                               ParseOldAttribute(bytes, schema, node.attributes.emplace_back()));
        }
        return ParseCommon(field, wire, cursor, node);
      });
  Modernize(schema, node);
  return ok;
}

void AddFirstField(std::uint32_t field, std::int64_t value, ForeignNode& node) {
  constexpr std::pair<std::uint32_t, std::string_view> kNames[] = {
      {5, "tensor_loc"},        {6, "tensor_size"},        {8, "input_tensor_loc"},
      {9, "input_tensor_size"}, {10, "output_tensor_loc"}, {11, "output_tensor_size"},
      {12, "num_ops"},          {16, "comm_src"},          {17, "comm_dst"},
      {18, "comm_size"},        {19, "comm_tag"},          {20, "comm_priority"}};
  constexpr std::uint32_t kCommType = 13;
  constexpr std::uint32_t kCommunicator = 15;
  if (field == kCommunicator && value > 0) {  // 0: all ranks
    node.Set("pg_name", std::to_string(value));
  } else if (field == kCommType) {
    node.Set("comm_type", CollectiveType(value - 1));
  }
  for (const auto& [number, name] : kNames) {
    if (number == field) {
      node.Set(name, value);
    }
  }
}

bool ParseFirst(std::string_view message, ForeignNode& node) {
  constexpr std::uint32_t kInvolvedDim = 14;
  std::vector<std::int64_t> dims;
  const bool ok =
      ForEachField(message, [&](std::uint32_t field, WireType wire, WireCursor& cursor) {
        const bool varint = wire == WireType::kVarint;
        if (field == 4 && (varint || wire == WireType::kBytes)) {
          return std::optional(AddIds(cursor, wire, node.data_deps));
        }
        if (field == kInvolvedDim && (varint || wire == WireType::kBytes)) {
          return std::optional(AddRepeated(cursor, wire, WireType::kVarint, [&](std::uint64_t bit) {
            dims.push_back(bit != 0 ? 1 : 0);
            return true;
          }));
        }
        std::uint64_t bits = 0;
        if (field == 7 && varint) {
          return std::optional(cursor.Varint(node.duration_micros.emplace()));
        }
        if (field > 4 && varint) {
          const bool read = cursor.Varint(bits);
          AddFirstField(field, static_cast<std::int64_t>(bits), node);
          return std::optional(read);
        }
        return ParseCommon(field, wire, cursor, node);
      });
  node.type = TypeWithMetadata(node.type);
  if (!dims.empty()) {
    node.Set("involved_dim", std::move(dims));
  }
  return ok;
}

}  // namespace

bool ParseForeign(std::string_view message, WireSchema schema, ForeignNode& node) {
  const std::uint64_t offset = node.offset;
  node = {};
  node.offset = offset;
  switch (schema) {
    case WireSchema::kFirst:
      return ParseFirst(message, node);
    case WireSchema::kSecond:
    case WireSchema::kThird:
      return ParseWithStrings(message, schema, node);
    case WireSchema::kFourth:
      break;
  }
  return ParseNode(message, node, [&](std::string_view attribute) {
    return ParseNewAttribute(attribute, node.attributes.emplace_back());
  });
}

bool ParseForeign(std::string_view message, WireSchema schema, ForeignHeader& header) {
  const bool old = schema != WireSchema::kFourth;
  return ForEachField(message, [&](std::uint32_t field, WireType wire, WireCursor& cursor) {
    std::string_view bytes;
    if (wire != WireType::kBytes || field > 2) {
      return std::optional<bool>();
    }
    if (field == 1 && !old) {
      return std::optional(ReadBytes(cursor, header.version));
    }
    if (!cursor.Bytes(bytes)) {
      return std::optional(false);
    }
    ForeignAttribute& attribute = header.attributes.emplace_back();
    return std::optional(old ? ParseOldAttribute(bytes, schema, attribute)
                             : ParseNewAttribute(bytes, attribute));
  });
}

}  // namespace reprise
