#include <algorithm>
#include <limits>
#include <utility>

#include "et_schema/columns/block_coding.h"
#include "et_schema/columns/coding.h"
#include "et_schema/columns/known_texts.h"
#include "et_schema/wire_buffer.h"

namespace reprise::columns {
namespace {

// Texts in the order in which they are coded first.
void NumberTexts(Block& block) {
  constexpr std::uint32_t kUnseen = std::numeric_limits<std::uint32_t>::max();
  std::vector<std::uint32_t> place(block.texts.size(), kUnseen);
  std::vector<std::string_view> texts(kKnownTexts.begin(), kKnownTexts.end());
  for (std::uint32_t i = 0; i < texts.size(); ++i) {
    place[i] = i;
  }
  const auto renumbered = [&](std::uint64_t text) {
    if (place[text] == kUnseen) {
      place[text] = static_cast<std::uint32_t>(texts.size());
      texts.push_back(block.texts[text]);
    }
    return place[text];
  };
  for (Field& field : block.fields) {
    if (field.kind == FieldKind::kConstant) {
      field.argument = renumbered(field.argument);
    }
  }
  for (const std::uint32_t column : CodingOrder(block)) {
    if (column % 2 == 1 && HoldsTexts(block.fields[column / 2])) {
      block.columns[column].plan.base = Base::kNew;
      for (std::uint64_t& value : block.columns[column].values) {
        value = renumbered(value);
      }
    }
  }
  block.texts = std::move(texts);
}

void CodeShapes(Numbers<Encoder>& numbers, const std::vector<Shape>& shapes, NewIndex& fields) {
  numbers(Use::kCount, shapes.size());
  for (const Shape& shape : shapes) {
    numbers(Use::kShapeLength, shape.size());
    std::uint64_t before = 0;
    for (const std::uint32_t field : shape) {
      numbers(Use::kShapeField, fields.ToCode(field), before);
      before = field + 1;
    }
  }
}

void CodeTables(Numbers<Encoder>& numbers, const Block& block, NewIndex& new_text) {
  NewIndex new_part(0);
  numbers(Use::kCount, block.fields.size());
  for (const Field& field : block.fields) {
    const auto kind = static_cast<std::uint64_t>(field.kind);
    numbers(Use::kFieldKind, kind);
    if (field.kind != FieldKind::kWhole) {
      numbers(Use::kFieldTag, field.tag, kind);
    }
    if (field.kind == FieldKind::kMessage || field.kind == FieldKind::kConstant) {
      NewIndex& news = field.kind == FieldKind::kMessage ? new_part : new_text;
      numbers(Use::kFieldArgument, news.ToCode(field.argument), kind);
    }
  }
  NewIndex new_field(0);
  CodeShapes(numbers, block.parts, new_field);
  CodeShapes(numbers, block.shapes, new_field);
  numbers(Use::kCount, block.texts.size() - kKnownTexts.size());
  for (std::size_t i = kKnownTexts.size(); i < block.texts.size(); ++i) {
    numbers(Use::kTextLength, block.texts[i].size());
  }
}

void CodeTimeColumns(Numbers<Encoder>& numbers, const TimeColumns& time) {
  for (const std::uint32_t column :
       {time.id, time.deps, time.duration, time.delay, time.stream, time.thread}) {
    numbers(Use::kPlanDetail, column == ColumnPlan::kNone ? 0 : std::uint64_t{column} + 1, 6);
  }
}

}  // namespace

bool EncodeBlock(Block block, std::string& out) {
  if (block.fields.size() > kMaxFields) {
    return false;
  }
  block.columns[kShapeColumn].plan.base = Base::kNew;
  FindTimes(block);
  NumberTexts(block);
  ChoosePlans(block);

  std::string codes;
  Encoder encoder(codes);
  Numbers<Encoder> numbers(encoder);
  NewIndex new_text(kKnownTexts.size());
  CodeTables(numbers, block, new_text);
  CodeTimeColumns(numbers, block.time);
  for (Column& column : block.columns) {
    CodePlan(numbers, column.plan);
  }
  NewIndex new_shape(0);
  for (const std::uint32_t index : CodingOrder(block)) {
    CodeColumn(numbers, block, index, index == kShapeColumn ? new_shape : new_text,
               block.columns[index].values.size());
  }
  encoder.Finish();

  std::string texts;
  for (std::size_t i = kKnownTexts.size(); i < block.texts.size(); ++i) {
    texts += block.texts[i];
  }
  WireBuffer header;
  header.Varint(block.bytes);
  header.Varint(block.messages);
  header.Varint(texts.size());
  header.Varint(codes.size());
  out += header.bytes();
  out += texts;
  out += codes;
  return true;
}

}  // namespace reprise::columns
