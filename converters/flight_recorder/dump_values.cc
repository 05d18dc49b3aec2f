#include "converters/flight_recorder/dump_values.h"

#include "core/text.h"

namespace reprise::flight_recorder {

ValueId DumpValues::Add(DumpValue value) {
  values_.push_back(value);
  return static_cast<ValueId>(values_.size() - 1);
}

ValueId DumpValues::AddItems(DumpValue::Kind kind) {
  items_.emplace_back();
  return Add({.kind = kind, .integer = static_cast<std::int64_t>(items_.size() - 1)});
}

void DumpValues::Append(ValueId container, ValueId item) {
  items_[static_cast<std::size_t>(values_[container].integer)].push_back(item);
}

const DumpValue& DumpValues::At(ValueId id) const {
  static const DumpValue none;
  return id == kNoValue ? none : values_[id];
}

const std::vector<ValueId>& DumpValues::ItemsOf(ValueId id) const {
  static const std::vector<ValueId> none;
  const DumpValue& value = At(id);
  if (value.kind != DumpValue::Kind::kList && value.kind != DumpValue::Kind::kDict) {
    return none;
  }
  const auto& items = items_[static_cast<std::size_t>(value.integer)];
  visited_ += items.size();
  return items;
}

ValueId DumpValues::Find(ValueId dict, std::string_view key) const {
  if (At(dict).kind != DumpValue::Kind::kDict) {
    return kNoValue;
  }
  const std::vector<ValueId>& items = ItemsOf(dict);
  for (std::size_t i = items.size() - items.size() % 2; i >= 2; i -= 2) {
    const DumpValue& at = At(items[i - 2]);
    if (at.kind == DumpValue::Kind::kText && at.text == key) {
      return items[i - 1];
    }
  }
  return kNoValue;
}

std::optional<std::int64_t> DumpValues::Integer(ValueId id) const {
  const DumpValue& value = At(id);
  if (value.kind == DumpValue::Kind::kText) {
    return ParseNumber<std::int64_t>(value.text);
  }
  return value.kind == DumpValue::Kind::kInteger ? std::optional(value.integer) : std::nullopt;
}

std::optional<double> DumpValues::Number(ValueId id) const {
  const DumpValue& value = At(id);
  if (value.kind == DumpValue::Kind::kText) {
    return ParseNumber<double>(value.text);
  }
  return value.kind == DumpValue::Kind::kNumber    ? std::optional(value.number)
         : value.kind == DumpValue::Kind::kInteger ? std::optional<double>(value.integer)
                                                   : std::nullopt;
}

std::string_view DumpValues::Text(ValueId id) const {
  const DumpValue& value = At(id);
  return value.kind == DumpValue::Kind::kText ? value.text : std::string_view();
}

}  // namespace reprise::flight_recorder
