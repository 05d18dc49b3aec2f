#include "et_schema/columns/split.h"

#include <bit>
#include <utility>

#include "et_schema/columns/known_texts.h"
#include "et_schema/wire.h"

namespace reprise::columns {
namespace {

// A reader that takes only the one way in which protobuf's writers write a number.
class StrictCursor {
 public:
  explicit StrictCursor(std::string_view bytes) : bytes_(bytes) {}
  [[nodiscard]] bool AtEnd() const { return at_ == bytes_.size(); }
  [[nodiscard]] bool Varint(std::uint64_t& value) {
    value = 0;
    for (int shift = 0; at_ < bytes_.size() && shift < 70; shift += 7) {
      const auto byte = static_cast<std::uint8_t>(bytes_[at_++]);
      value |= std::uint64_t{byte & 0x7fU} << shift;
      if (byte < 0x80) {
        const bool minimal = byte != 0 || shift == 0;
        return minimal && (shift < 63 || byte == 1);
      }
    }
    return false;
  }
  [[nodiscard]] bool Bytes(std::uint64_t size, std::string_view& bytes) {
    if (size > bytes_.size() - at_) {
      return false;
    }
    bytes = bytes_.substr(at_, size);
    at_ += size;
    return true;
  }
  template <typename T>
  [[nodiscard]] bool Fixed(std::uint64_t& value) {
    std::string_view bytes;
    if (!Bytes(sizeof(T), bytes)) {
      return false;
    }
    value = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i) {
      value |= std::uint64_t{static_cast<std::uint8_t>(bytes[i])} << (8 * i);
    }
    return true;
  }

 private:
  std::string_view bytes_;
  std::size_t at_ = 0;
};

// Field numbers of et_def.proto.
constexpr std::uint32_t kHeaderAttribute = 2, kNodeControl = 4, kNodeData = 5;
constexpr std::uint32_t kNodeInputs = 8, kNodeOutputs = 9, kNodeAttribute = 10;
constexpr std::uint32_t kAttributeName = 1, kListValues = 1;

bool IsNumberList(std::uint32_t attribute_field) {
  return (attribute_field % 2 == 0 && attribute_field >= 8 && attribute_field <= 18) ||
         attribute_field == 28;
}
bool IsTextList(std::uint32_t attribute_field) {
  return attribute_field == 30 || attribute_field == 32;
}

std::uint64_t VarintSize(std::uint64_t value) {
  constexpr int kBitsPerByte = 7;
  return 1 + static_cast<std::uint64_t>(std::bit_width(value | 1) - 1) / kBitsPerByte;
}

constexpr std::uint32_t kHeaderPlace = 0, kNodePlace = 1;

}  // namespace

Splitter::Splitter() {
  for (const std::string_view text : kKnownTexts) {
    TextOf(text);
  }
  block_.columns.resize(1);
  places_[{kHeaderPlace, 0, 0}] = kHeaderPlace;
  places_[{kNodePlace, 0, 0}] = kNodePlace;
}

void Splitter::Add(std::string_view message, bool header) {
  pending_.clear();
  Shape shape;
  const Place place = header ? kHeaderPlace : kNodePlace;
  if (!SplitFields(message, header ? Kind::kHeader : Kind::kNode, place, shape)) {
    pending_.clear();
    shape = {FieldOf(place, {.kind = FieldKind::kWhole})};
    Value(First(shape[0]), TextOf(message));
  }
  const auto found = shapes_.try_emplace(shape, static_cast<std::uint32_t>(shapes_.size()));
  if (found.second) {
    block_.shapes.push_back(std::move(shape));
  }
  pending_.push_back({kShapeColumn, found.first->second});
  for (const Pending& value : pending_) {
    Column& column = block_.columns[value.column];
    column.values.push_back(value.value);
    column.messages.push_back(block_.messages);
  }
  ++block_.messages;
  block_.bytes += message.size() + VarintSize(message.size());
}

Block Splitter::Take() {
  block_.texts.resize(texts_.size());
  for (const auto& [text, index] : texts_) {
    block_.texts[index] = text;
  }
  Block block = std::move(block_);
  *this = Splitter();
  return block;
}

bool Splitter::SplitFields(std::string_view bytes, Kind kind, Place place, Shape& shape) {
  for (StrictCursor cursor(bytes); !cursor.AtEnd();) {
    std::uint64_t tag = 0;
    std::uint64_t value = 0;
    if (!cursor.Varint(tag) || tag < 8 || tag > UINT32_MAX) {
      return false;
    }
    Field field{.tag = static_cast<std::uint32_t>(tag)};
    bool read = false;
    switch (static_cast<WireType>(tag & 7)) {
      case WireType::kVarint:
        read = cursor.Varint(value);
        break;
      case WireType::kFixed64:
        field.kind = FieldKind::kFixed64;
        read = cursor.Fixed<std::uint64_t>(value);
        break;
      case WireType::kFixed32:
        field.kind = FieldKind::kFixed32;
        read = cursor.Fixed<std::uint32_t>(value);
        break;
      case WireType::kBytes: {
        std::string_view content;
        if (!cursor.Varint(value) || !cursor.Bytes(value, content) ||
            !SplitBytes(content, field.tag, kind, place, shape)) {
          return false;
        }
        continue;
      }
      default:
        break;
    }
    if (!read) {
      return false;
    }
    shape.push_back(FieldOf(place, field));
    Value(First(shape.back()), value);
  }
  return true;
}

bool Splitter::SplitBytes(std::string_view bytes, std::uint32_t tag, Kind kind, Place& place,
                          Shape& shape) {
  const std::uint32_t number = tag >> 3;
  if (kind == Kind::kAttribute && number == kAttributeName) {
    // What an attribute's value means is said by its name: the fields after it have their own
    // place.
    const std::uint32_t text = TextOf(bytes);
    shape.push_back(FieldOf(place, {.kind = FieldKind::kConstant, .tag = tag, .argument = text}));
    place = PlaceOf(place, tag, text + 1);
    return true;
  }
  const bool node = kind == Kind::kNode;
  if ((node && (number == kNodeControl || number == kNodeData)) ||
      (kind == Kind::kNumbers && number == kListValues)) {
    if (SplitNumbers(bytes, tag, place, shape)) {
      return true;
    }
  }
  Kind inner = kind;
  if (node && (number == kNodeInputs || number == kNodeOutputs)) {
    inner = Kind::kArguments;
  } else if (number == (node ? kNodeAttribute : kHeaderAttribute) &&
             (node || kind == Kind::kHeader)) {
    inner = Kind::kAttribute;
  } else if (kind == Kind::kAttribute && IsNumberList(number)) {
    inner = Kind::kNumbers;
  } else if (kind == Kind::kAttribute && IsTextList(number)) {
    inner = Kind::kTexts;
  }
  if (inner != kind) {
    const std::size_t before = pending_.size();
    Shape part;
    if (SplitFields(bytes, inner, PlaceOf(place, tag, 0), part)) {
      const auto found = parts_.try_emplace(part, static_cast<std::uint32_t>(parts_.size()));
      if (found.second) {
        block_.parts.push_back(std::move(part));
      }
      shape.push_back(FieldOf(
          place, {.kind = FieldKind::kMessage, .tag = tag, .argument = found.first->second}));
      return true;
    }
    pending_.resize(before);
  }
  shape.push_back(FieldOf(place, {.kind = FieldKind::kText, .tag = tag}));
  Value(First(shape.back()), TextOf(bytes));
  return true;
}

bool Splitter::SplitNumbers(std::string_view bytes, std::uint32_t tag, Place place, Shape& shape) {
  const std::size_t before = pending_.size();
  const std::uint32_t field = FieldOf(place, {.kind = FieldKind::kNumbers, .tag = tag});
  std::uint64_t count = 0;
  for (StrictCursor cursor(bytes); !cursor.AtEnd(); ++count) {
    std::uint64_t value = 0;
    if (!cursor.Varint(value)) {
      pending_.resize(before);
      return false;
    }
    Value(Second(field), value);
  }
  Value(First(field), count);
  shape.push_back(field);
  return true;
}

std::uint32_t Splitter::FieldOf(Place place, const Field& field) {
  const auto index = static_cast<std::uint32_t>(block_.fields.size());
  const auto found = fields_.try_emplace(
      {place, {static_cast<std::uint32_t>(field.kind), field.tag, field.argument}}, index);
  if (found.second) {
    block_.fields.push_back(field);
    block_.columns.resize(block_.columns.size() + 2);
  }
  return found.first->second;
}

std::uint32_t Splitter::TextOf(std::string_view text) {
  return texts_.try_emplace(text, static_cast<std::uint32_t>(texts_.size())).first->second;
}

Splitter::Place Splitter::PlaceOf(Place parent, std::uint32_t what, std::uint32_t text) {
  return places_.try_emplace({parent, what, text}, static_cast<Place>(places_.size()))
      .first->second;
}

}  // namespace reprise::columns
