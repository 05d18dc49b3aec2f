#include "et_schema/raw_node.h"

#include <algorithm>
#include <cstring>

#include "et_schema/foreign_fields.h"

namespace reprise {
namespace {

using field::Shape;
struct Row {
  std::string_view name;
  Shape shape;
};
constexpr std::array<Row, kAttributeCount> kRows = [] {
  std::array<Row, kAttributeCount> rows{};
  ForEachAttribute(kAttributes, [&]<typename R>(const R& row) {
    rows.at(static_cast<std::size_t>(R::kAttribute)) = {row.name, WrittenAs<R>::kShape};
  });
  return rows;
}();

// A perfect-enough hash: names differ in length, first, middle or last character. Slots hold
// index + 1; collisions probe linearly.
constexpr std::size_t kSlots = 256;
constexpr std::size_t Slot(std::string_view name) {
  const auto at = [&](std::size_t i) { return static_cast<std::size_t>(name[i]); };
  return (name.size() * 31 + at(0) * 7 + at(name.size() / 2) * 3 + at(name.size() - 1)) % kSlots;
}
constexpr std::array<std::uint8_t, kSlots> MakeSlots() {
  std::array<std::uint8_t, kSlots> slots{};
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    std::size_t slot = Slot(kRows[i].name);
    while (slots[slot] != 0) {
      slot = (slot + 1) % kSlots;
    }
    slots[slot] = static_cast<std::uint8_t>(i + 1);
  }
  return slots;
}
constexpr std::array<std::uint8_t, kSlots> kSlotTable = MakeSlots();

// memcmp for 4 to 32 bytes without the call: this runs for every attribute of every node.
bool SameBytes(const char* a, const char* b, std::size_t size) {
  const auto same = [&]<typename Word>(Word) {
    for (std::size_t at = 0;; at += sizeof(Word)) {
      at = std::min(at, size - sizeof(Word));  // the last two words may overlap
      Word x;
      Word y;
      std::memcpy(&x, a + at, sizeof(Word));
      std::memcpy(&y, b + at, sizeof(Word));
      if (x != y) {
        return false;
      }
      if (at + sizeof(Word) == size) {
        return true;
      }
    }
  };
  return size >= sizeof(std::uint64_t) ? same(std::uint64_t{}) : same(std::uint32_t{});
}

}  // namespace

std::string_view Name(Attribute attribute) {
  return kRows.at(static_cast<std::size_t>(attribute)).name;
}

std::size_t RawNode::Find(std::string_view name) {
  if (name.empty()) {
    return kAttributeCount;
  }
  for (std::size_t slot = Slot(name); kSlotTable[slot] != 0; slot = (slot + 1) % kSlots) {
    const std::size_t index = kSlotTable[slot] - 1U;
    if (kRows[index].name == name) {
      return index;
    }
  }
  return kAttributeCount;
}

Shape RawNode::ShapeOf(std::size_t attribute) { return kRows[attribute].shape; }

void RawNode::Clear() {
  id = start_micros = duration_micros = 0;
  type = 0;
  name = {};
  ctrl_deps.clear();
  data_deps.clear();
  inputs = outputs = {};
  storage.reset();
  unknown_fields = 0;
  unknown_attributes.clear();
  mistyped_attributes.clear();
  present_ = 0;
  list_count_ = 0;
  last_ = kAttributeCount;
}

bool RawNode::Parse(std::string_view message) {
  Clear();
  return ParseNode(message, *this,
                   [this](std::string_view attribute) { return AddAttribute(attribute); });
}

bool RawNode::AddAttribute(std::string_view message) {
  if (AddExpected(message)) {
    return true;
  }
  RawAttribute raw;
  if (!ParseAttribute(message, raw)) {
    return false;
  }
  const std::size_t index = AddOne(raw.name, raw);
  if (index != kAttributeCount) {
    Learn(index, message, raw);
  }
  return true;
}

bool RawNode::AddExpected(std::string_view message) {
  const std::size_t index = followers_[last_];
  const Encoding& encoding = encodings_[index];
  if (encoding.length == 0 || message.size() <= encoding.length ||
      !SameBytes(message.data(), encoding.prefix.data(), encoding.length)) {
    return false;
  }
  RawAttribute raw{.field = encoding.field};
  WireCursor value(message.substr(encoding.length));
  const bool ok = encoding.wire == WireType::kBytes ? value.Bytes(raw.bytes)
                                                    : value.Scalar(encoding.wire, raw.bits);
  if (!ok || !value.AtEnd() ||
      !(encoding.is_number ? raw.AsInt(numbers_[index]) : Set(index, raw))) {
    return false;
  }
  present_ |= std::uint64_t{1} << index;
  last_ = index;
  return true;
}

// Only the usual form can be expected again: one-byte length and name, then the value's tag.
void RawNode::Learn(std::size_t index, std::string_view message, const RawAttribute& raw) {
  const std::size_t tag_bytes = raw.field < 16 ? 1 : 2;
  const std::size_t length = 2 + raw.name.size() + tag_bytes;
  Encoding& encoding = encodings_[index];
  if (length >= sizeof(std::uint32_t) && length <= encoding.prefix.size() &&
      length < message.size() && raw.name.data() == message.data() + 2) {
    const std::uint32_t tag =
        raw.field << 3 | static_cast<std::uint32_t>(AttributeWireType(raw.field));
    WireCursor cursor(message.substr(2 + raw.name.size()));
    std::uint64_t found = 0;
    if (cursor.Varint(found) && found == tag) {
      std::copy_n(message.begin(), length, encoding.prefix.begin());
      encoding.length = static_cast<std::uint8_t>(length);
      encoding.field = static_cast<std::uint8_t>(raw.field);
      encoding.wire = AttributeWireType(raw.field);
      encoding.is_number = kRows[index].shape == Shape::kNumber;
    }
  }
  followers_[last_] = static_cast<std::uint8_t>(index);
  last_ = index;
}

const std::vector<std::int64_t>& RawNode::List(Attribute a) const {
  std::size_t i = list_count_ - 1;
  while (lists_[i].first != a) {
    --i;
  }
  return lists_[i].second;
}

}  // namespace reprise
