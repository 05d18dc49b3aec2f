#include "et_schema/column_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "core/shown_text.h"
#include "core/utf8.h"

namespace reprise {
namespace {

constexpr std::uint64_t kUnsignedBit = std::uint64_t{1} << 63;

}  // namespace

std::optional<ColumnKind> KindOf(const RawAttribute& attribute) {
  switch (attribute.field) {
    case 3:
    case 5:
      return ColumnKind::kReal;
    case 27:
      return ColumnKind::kBoolean;
    case 29:
      return ColumnKind::kText;
    case 30:
      return ColumnKind::kTextList;
    case 31:
      return ColumnKind::kBytes;
    case 4:
    case 6:
    case 28:
    case 32:
      return std::nullopt;
    default:
      return attribute.IsList() ? ColumnKind::kIntegerList : ColumnKind::kInteger;
  }
}

ColumnBuilder::ColumnBuilder(std::string_view name, ColumnKind kind) {
  column_.name = name;
  column_.kind = kind;
  if (kind == ColumnKind::kText || kind == ColumnKind::kBytes || kind == ColumnKind::kTextList) {
    column_.texts = std::make_unique<StringPool>();
  }
}

void ColumnBuilder::AddBits(std::uint32_t row, std::uint64_t bits) {
  column_.rows.push_back(row);
  column_.values.push_back(bits);
}

void ColumnBuilder::AddNumber(std::uint32_t row, std::uint64_t bits, bool is_unsigned) {
  const bool high = (bits & kUnsignedBit) != 0;
  beyond_ = beyond_ || (high && is_unsigned);
  negative_ = negative_ || (high && !is_unsigned);
  AddBits(row, bits);
}

Misfit ColumnBuilder::AddText(std::uint32_t row, std::string_view text) {
  const std::optional<std::uint64_t> number = Intern(text);
  AddBits(row, number.value_or(0));
  return number ? "" : "is not UTF-8";
}

Misfit ColumnBuilder::Add(std::uint32_t row, const RawAttribute& attribute) {
  if (!column_.rows.empty() && column_.rows.back() == row) {
    return "occurs twice";
  }
  if (KindOf(attribute) != column_.kind) {
    return "has another type than in other nodes";
  }
  switch (column_.kind) {
    case ColumnKind::kReal: {
      double value = 0;
      if (!attribute.AsDouble(value)) {
        return "is no number";
      }
      AddBits(row, std::bit_cast<std::uint64_t>(value));
      return {};
    }
    case ColumnKind::kBoolean:
      AddBits(row, attribute.bits != 0 ? 1 : 0);
      return {};
    case ColumnKind::kText:
    case ColumnKind::kBytes:
      return AddText(row, attribute.bytes);
    case ColumnKind::kIntegerList:
      return AddIntegers(row, attribute);
    case ColumnKind::kTextList:
      return AddTexts(row, attribute);
    default:
      return AddInteger(row, attribute);
  }
}

Result<NodeColumn> ColumnBuilder::Finish(std::uint64_t rows, const std::string& path) {
  if (beyond_ && negative_) {
    return BadInput(
        fmt::format("{}: the attribute {} has values below 0 and values of 2^63 or more", path,
                    ShownText(column_.name)));
  }
  column_.kind = beyond_ ? ColumnKind::kUnsigned : column_.kind;
  if (column_.rows.size() == rows) {
    column_.rows = {};
  }
  return std::move(column_);
}

std::optional<std::uint64_t> ColumnBuilder::Intern(std::string_view text) {
  const std::size_t known = column_.texts->ends().size();
  const StringPool::Id number = column_.texts->Intern(text);
  const bool fits = number < known || column_.kind == ColumnKind::kBytes || IsValidUtf8(text);
  return fits ? std::optional<std::uint64_t>(number) : std::nullopt;
}

Misfit ColumnBuilder::AddInteger(std::uint32_t row, const RawAttribute& attribute) {
  constexpr std::array<std::uint32_t, 2> kUnsignedFields = {13, 21};  // uint64, fixed64
  if (std::ranges::find(kUnsignedFields, attribute.field) != kUnsignedFields.end()) {
    AddNumber(row, attribute.bits, true);
    return {};
  }
  std::int64_t value = 0;
  if (!attribute.AsInt(value)) {
    return "is no number";
  }
  AddNumber(row, static_cast<std::uint64_t>(value), false);
  return {};
}

Misfit ColumnBuilder::AddIntegers(std::uint32_t row, const RawAttribute& attribute) {
  if (!attribute.AsInts(numbers_)) {
    return "is a list of other values than integers below 2^63";
  }
  column_.elements.insert(column_.elements.end(), numbers_.begin(), numbers_.end());
  AddBits(row, column_.elements.size());
  return {};
}

Misfit ColumnBuilder::AddTexts(std::uint32_t row, const RawAttribute& attribute) {
  if (!attribute.AsTexts(views_)) {
    return "is no list of texts";
  }
  for (const std::string_view text : views_) {
    const std::optional<std::uint64_t> number = Intern(text);
    if (!number) {
      return "is not UTF-8";
    }
    column_.elements.push_back(*number);
  }
  AddBits(row, column_.elements.size());
  return {};
}

}  // namespace reprise
