#include <algorithm>
#include <array>
#include <utility>

#include "et_schema/columns/block_coding.h"
#include "et_schema/columns/coding.h"
#include "et_schema/columns/known_texts.h"
#include "et_schema/wire.h"

namespace reprise::columns {
namespace {

class BlockDecoder {
 public:
  BlockDecoder(const BlockHeader& header, std::string_view texts, std::string_view codes)
      : left_(header.bytes), text_bytes_(texts), decoder_(codes), numbers_(decoder_) {
    block_.bytes = header.bytes;
    block_.messages = static_cast<std::uint32_t>(header.messages);
  }

  Status Decode(std::string& out) {
    REPRISE_TRY(ReadFields());
    REPRISE_TRY(ReadShapes(block_.parts, true));
    REPRISE_TRY(ReadShapes(block_.shapes, false));
    REPRISE_TRY(ReadTexts());
    REPRISE_TRY(ReadPlans());
    REPRISE_TRY(ReadColumns());
    if (!decoder_.exact()) {
      return Damaged("more or fewer codes than it says");
    }
    return MergeMessages(block_, out);
  }

 private:
  Status ReadCount(std::uint64_t most, std::uint64_t& count) {
    count = numbers_(Use::kCount, 0);
    return count <= most && !decoder_.starved() ? Status{} : Damaged("a count is out of range");
  }

  Status ReadFields();
  Status ReadShapes(std::vector<Shape>& shapes, bool parts);
  Status ReadTexts();
  Status ReadPlans();
  Status ReadColumns();
  Status ReadColumn(std::uint32_t index);
  Status PlaceFields(const Shape& shape, std::uint32_t message, int depth);
  Status PlaceNumbers(std::uint32_t field);
  // The largest number that a column may hold.
  [[nodiscard]] std::uint64_t MostOf(std::uint32_t index) const;
  [[nodiscard]] bool Takes(std::uint64_t bytes) {
    const bool room = bytes <= left_;
    left_ -= room ? bytes : left_;
    return room;
  }

  Block block_;
  std::uint64_t left_;  // of the messages' bytes: whatever is made takes some of them
  std::string_view text_bytes_;
  Decoder decoder_;
  Numbers<Decoder> numbers_;
  NewIndex new_text_{kKnownTexts.size()}, new_part_{0}, new_field_{0}, new_shape_{0};
  bool has_starts_ = false;
  std::vector<bool> known_;  // which columns are decoded
};

Status BlockDecoder::ReadFields() {
  constexpr std::array<WireType, kFieldKinds> kWires = {
      WireType::kVarint, WireType::kFixed64, WireType::kFixed32, WireType::kBytes,
      WireType::kBytes,  WireType::kBytes,   WireType::kBytes,   WireType::kBytes};
  std::uint64_t count = 0;
  REPRISE_TRY(ReadCount(kMaxFields, count));
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t kind = numbers_(Use::kFieldKind, 0);
    if (kind >= kFieldKinds) {
      return Damaged("no such kind of field");
    }
    Field field{.kind = static_cast<FieldKind>(kind)};
    if (field.kind != FieldKind::kWhole) {
      const std::uint64_t tag = numbers_(Use::kFieldTag, 0, kind);
      if (tag < 8 || tag > UINT32_MAX || static_cast<WireType>(tag & 7) != kWires[kind]) {
        return Damaged("a field's tag is none");
      }
      field.tag = static_cast<std::uint32_t>(tag);
    }
    if (field.kind == FieldKind::kMessage || field.kind == FieldKind::kConstant) {
      NewIndex& news = field.kind == FieldKind::kMessage ? new_part_ : new_text_;
      const std::uint64_t argument = news.FromCode(numbers_(Use::kFieldArgument, 0, kind));
      if (argument >= UINT32_MAX) {
        return Damaged("a field's text or part is out of range");
      }
      field.argument = static_cast<std::uint32_t>(argument);
    }
    block_.fields.push_back(field);
  }
  block_.columns.resize(1 + 2 * block_.fields.size());
  return {};
}

// A part may have only parts before it: so no message holds itself.
Status BlockDecoder::ReadShapes(std::vector<Shape>& shapes, bool parts) {
  std::uint64_t count = 0;
  REPRISE_TRY(ReadCount(parts ? kMaxFields : block_.messages, count));
  std::uint64_t fields = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t length = numbers_(Use::kShapeLength, 0);
    fields += std::min(length, block_.bytes + 1);
    if (fields > block_.bytes || decoder_.starved()) {
      return Damaged("a message has too many fields");
    }
    Shape shape;
    std::uint64_t before = 0;
    for (std::uint64_t f = 0; f < length; ++f) {
      const std::uint64_t field = new_field_.FromCode(numbers_(Use::kShapeField, 0, before));
      if (field >= block_.fields.size() || decoder_.starved()) {
        return Damaged("a field is out of range");
      }
      const Field& used = block_.fields[field];
      if (used.kind == FieldKind::kMessage &&
          used.argument >= (parts ? shapes.size() : block_.parts.size())) {
        return Damaged("a part is out of range");
      }
      shape.push_back(static_cast<std::uint32_t>(field));
      before = field + 1;
    }
    shapes.push_back(std::move(shape));
  }
  return {};
}

Status BlockDecoder::ReadTexts() {
  std::uint64_t count = 0;
  REPRISE_TRY(ReadCount(block_.bytes / 2, count));  // a text and its tag, or its message's length
  block_.texts.assign(kKnownTexts.begin(), kKnownTexts.end());
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t length = numbers_(Use::kTextLength, 0);
    if (length > text_bytes_.size() || decoder_.starved()) {
      return Damaged("a text is longer than the texts");
    }
    block_.texts.push_back(text_bytes_.substr(0, length));
    text_bytes_.remove_prefix(length);
  }
  if (!text_bytes_.empty()) {
    return Damaged("more texts than it says");
  }
  for (const Field& field : block_.fields) {
    if (field.kind == FieldKind::kConstant && field.argument >= block_.texts.size()) {
      return Damaged("a text is out of range");
    }
  }
  return {};
}

Status BlockDecoder::ReadPlans() {
  const auto column_exists = [this](std::uint32_t column) {
    return column == ColumnPlan::kNone || column < block_.columns.size();
  };
  TimeColumns& time = block_.time;
  for (std::uint32_t* column :
       {&time.id, &time.deps, &time.duration, &time.delay, &time.stream, &time.thread}) {
    const std::uint64_t code = numbers_(Use::kPlanDetail, 0, 6);
    if (code > block_.columns.size()) {
      return Damaged("a column is out of range");
    }
    *column = code == 0 ? ColumnPlan::kNone : static_cast<std::uint32_t>(code - 1);
  }
  for (Column& column : block_.columns) {
    ColumnPlan& plan = column.plan;
    CodePlan(numbers_, plan);
    if (static_cast<std::uint64_t>(plan.base) >= kBases || plan.stage >= kStages || plan.lag == 0 ||
        !column_exists(plan.context) || !column_exists(plan.reference)) {
      return Damaged("a column's plan is out of range");
    }
  }
  if (block_.columns[kShapeColumn].plan != ColumnPlan{.base = Base::kNew}) {
    return Damaged("the shapes' plan is not theirs");
  }
  return {};
}

// Where the first columns' values stand: what the shapes say.
Status BlockDecoder::PlaceFields(const Shape& shape, std::uint32_t message, int depth) {
  if (depth > kMaxDepth) {
    return Damaged("messages within messages, too deep");
  }
  for (const std::uint32_t index : shape) {
    const Field& field = block_.fields[index];
    if (!Takes(field.kind == FieldKind::kWhole ? 1 : 2)) {
      return Damaged("more fields than the messages have bytes");
    }
    if (field.kind == FieldKind::kMessage) {
      REPRISE_TRY(PlaceFields(block_.parts[field.argument], message, depth + 1));
    } else if (field.kind != FieldKind::kConstant) {
      block_.columns[First(index)].messages.push_back(message);
    }
  }
  return {};
}

Status BlockDecoder::PlaceNumbers(std::uint32_t field) {
  const Column& counts = block_.columns[First(field)];
  Column& list = block_.columns[Second(field)];
  for (std::size_t i = 0; i < counts.values.size(); ++i) {
    if (!Takes(counts.values[i])) {
      return Damaged("more numbers than the messages have bytes");
    }
    list.messages.insert(list.messages.end(), counts.values[i], counts.messages[i]);
  }
  return {};
}

std::uint64_t BlockDecoder::MostOf(std::uint32_t index) const {
  if (index == kShapeColumn) {
    return block_.shapes.size() - 1;
  }
  const Field& field = block_.fields[(index - 1) / 2];
  if (HoldsTexts(field)) {
    return block_.texts.size() - 1;
  }
  return field.kind == FieldKind::kFixed32 ? UINT32_MAX : UINT64_MAX;
}

Status BlockDecoder::ReadColumn(std::uint32_t index) {
  Column& column = block_.columns[index];
  if (index != kShapeColumn && index % 2 == 0) {
    if (block_.fields[(index - 1) / 2].kind != FieldKind::kNumbers) {
      return {};  // only lists have a second column
    }
    if (!known_[index - 1]) {
      return Damaged("a list stands before its counts");
    }
    REPRISE_TRY(PlaceNumbers((index - 1) / 2));
  }
  const TimeColumns& time = block_.time;
  const auto ready = [this](std::uint32_t other) {
    return other == ColumnPlan::kNone || known_[other];
  };
  const Base base = column.plan.base;
  // Both look at every message: for one column each.
  if ((base == Base::kActor && index != time.deps) ||
      (base == Base::kEnds && std::exchange(has_starts_, true))) {
    return Damaged("a plan that one column may have");
  }
  const bool timed = base == Base::kEnds || base == Base::kActor;
  if (!ready(column.plan.context) || !ready(column.plan.reference) ||
      (timed && (time.deps == ColumnPlan::kNone || time.id == ColumnPlan::kNone ||
                 !ready(time.id) || !ready(time.stream) || !ready(time.thread))) ||
      (base == Base::kEnds && (!ready(time.deps) || !ready(time.duration) || !ready(time.delay)))) {
    return Damaged("a column needs one that comes later");
  }
  NewIndex& news = index == kShapeColumn ? new_shape_ : new_text_;
  if (!CodeColumn(numbers_, block_, index, news, column.messages.size())) {
    return Damaged("codes are missing");
  }
  const std::uint64_t most = MostOf(index);
  if (std::any_of(column.values.begin(), column.values.end(),
                  [most](std::uint64_t value) { return value > most; })) {
    return Damaged("a shape, text or number is out of range");
  }
  known_[index] = true;
  return {};
}

Status BlockDecoder::ReadColumns() {
  if (block_.shapes.empty()) {
    return Damaged("no shapes");
  }
  known_.assign(block_.columns.size(), false);
  Column& shapes = block_.columns[kShapeColumn];
  for (std::uint32_t message = 0; message < block_.messages; ++message) {
    shapes.messages.push_back(message);
  }
  for (const std::uint32_t index : CodingOrder(block_)) {
    REPRISE_TRY(ReadColumn(index));
    for (std::uint32_t message = 0; index == kShapeColumn && message < block_.messages; ++message) {
      if (!Takes(1)) {
        return Damaged("more messages than bytes");
      }
      REPRISE_TRY(PlaceFields(block_.shapes[shapes.values[message]], message, 0));
    }
  }
  return {};
}

}  // namespace

Status DecodeBlock(const BlockHeader& header, std::string_view texts, std::string_view codes,
                   std::string& out) {
  return BlockDecoder(header, texts, codes).Decode(out);
}

}  // namespace reprise::columns
