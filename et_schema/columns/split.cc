#include "et_schema/columns/split.h"

#include <bit>
#include <utility>

#include "et_schema/columns/known_texts.h"
#include "et_schema/wire.h"

namespace reprise::columns {
namespace {

struct WireField {
  std::uint32_t tag = 0;
  std::uint64_t number = 0;  // of a varint or fixed field
  std::string_view content;  // of one with a length
};

// A reader that takes only the one way in which protobuf's writers write something.
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
  [[nodiscard]] bool Next(WireField& field) {
    std::uint64_t tag = 0;
    if (!Varint(tag) || tag < 8 || tag > UINT32_MAX) {
      return false;
    }
    field.tag = static_cast<std::uint32_t>(tag);
    switch (static_cast<WireType>(tag & 7)) {
      case WireType::kVarint:
        return Varint(field.number);
      case WireType::kFixed64:
        return Fixed<std::uint64_t>(field.number);
      case WireType::kFixed32:
        return Fixed<std::uint32_t>(field.number);
      case WireType::kBytes:
        return Varint(field.number) && Bytes(field.number, field.content);
      default:
        return false;
    }
  }

 private:
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

  std::string_view bytes_;
  std::size_t at_ = 0;
};

// Asked first, so that nothing of what is no message gets into the tables.
bool AreFields(std::string_view bytes) {
  WireField field;
  for (StrictCursor cursor(bytes); !cursor.AtEnd();) {
    if (!cursor.Next(field)) {
      return false;
    }
  }
  return true;
}

bool AreVarints(std::string_view bytes) {
  std::uint64_t number = 0;
  for (StrictCursor cursor(bytes); !cursor.AtEnd();) {
    if (!cursor.Varint(number)) {
      return false;
    }
  }
  return true;
}

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

constexpr std::uint32_t kHeaderPlace = 0, kNodePlace = 1;

}  // namespace

std::uint64_t FramedBytes(std::string_view message) {
  constexpr int kBitsPerByte = 7;
  const auto bits = std::bit_width(std::uint64_t{message.size()} | 1);
  return static_cast<std::uint64_t>((bits + kBitsPerByte - 1) / kBitsPerByte) + message.size();
}

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
  if (AreFields(message)) {
    shape = SplitFields(message, header ? Kind::kHeader : Kind::kNode, place);
  } else {
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
  block_.bytes += FramedBytes(message);
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

Shape Splitter::SplitFields(std::string_view bytes, Kind kind, Place place) {
  Shape shape;
  WireField field;
  for (StrictCursor cursor(bytes); !cursor.AtEnd() && cursor.Next(field);) {
    const auto type = static_cast<WireType>(field.tag & 7);
    if (type == WireType::kBytes) {
      shape.push_back(SplitContent(field.content, field.tag, kind, place));
      continue;
    }
    shape.push_back(FieldOf(place, {.kind = type == WireType::kVarint    ? FieldKind::kVarint
                                            : type == WireType::kFixed64 ? FieldKind::kFixed64
                                                                         : FieldKind::kFixed32,
                                    .tag = field.tag}));
    Value(First(shape.back()), field.number);
  }
  return shape;
}

std::uint32_t Splitter::SplitContent(std::string_view bytes, std::uint32_t tag, Kind kind,
                                     Place& place) {
  const std::uint32_t number = tag >> 3;
  if (kind == Kind::kAttribute && number == kAttributeName) {
    // What an attribute's value means is said by its name: what comes after has its own place.
    const std::uint32_t text = TextOf(bytes);
    const std::uint32_t field =
        FieldOf(place, {.kind = FieldKind::kConstant, .tag = tag, .argument = text});
    place = PlaceOf(place, tag, text + 1);
    return field;
  }
  if (IsNumbers(kind, number) && AreVarints(bytes)) {
    const std::uint32_t field = FieldOf(place, {.kind = FieldKind::kNumbers, .tag = tag});
    std::uint64_t count = 0;
    std::uint64_t value = 0;
    for (StrictCursor cursor(bytes); !cursor.AtEnd() && cursor.Varint(value); ++count) {
      Value(Second(field), value);
    }
    Value(First(field), count);
    return field;
  }
  const Kind inner = KindOf(kind, number);
  if (inner != kind && AreFields(bytes)) {
    Shape part = SplitFields(bytes, inner, PlaceOf(place, tag, 0));
    const auto found = parts_.try_emplace(part, static_cast<std::uint32_t>(parts_.size()));
    if (found.second) {
      block_.parts.push_back(std::move(part));
    }
    return FieldOf(place,
                   {.kind = FieldKind::kMessage, .tag = tag, .argument = found.first->second});
  }
  const std::uint32_t field = FieldOf(place, {.kind = FieldKind::kText, .tag = tag});
  Value(First(field), TextOf(bytes));
  return field;
}

// Whether a field's content is varints, one after the other.
bool Splitter::IsNumbers(Kind kind, std::uint32_t number) {
  return (kind == Kind::kNode && (number == kNodeControl || number == kNodeData)) ||
         (kind == Kind::kNumbers && number == kListValues);
}

// What message a field's content is; `kind` itself: none that is known.
Splitter::Kind Splitter::KindOf(Kind kind, std::uint32_t number) {
  if (kind == Kind::kNode && (number == kNodeInputs || number == kNodeOutputs)) {
    return Kind::kArguments;
  }
  if ((kind == Kind::kNode && number == kNodeAttribute) ||
      (kind == Kind::kHeader && number == kHeaderAttribute)) {
    return Kind::kAttribute;
  }
  if (kind == Kind::kAttribute && IsNumberList(number)) {
    return Kind::kNumbers;
  }
  return kind == Kind::kAttribute && IsTextList(number) ? Kind::kTexts : kind;
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
