// What a dump of PyTorch's flight recorder holds, read from a pickle or from JSON: plain values, of
// which one may be part of several others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace reprise::flight_recorder {

using ValueId = std::uint32_t;
inline constexpr ValueId kNoValue = UINT32_MAX;

struct DumpValue {
  enum class Kind : std::uint8_t { kNone, kBool, kInteger, kNumber, kText, kList, kDict };
  Kind kind = Kind::kNone;
  std::int64_t integer = 0;  // also of a bool; of a list or dict: where its items are
  double number = 0;
  std::string_view text;  // a view into the file
};

// Texts are views: what they came from must live as long.
class DumpValues {
 public:
  ValueId Add(DumpValue value);
  ValueId AddList() { return AddItems(DumpValue::Kind::kList); }
  ValueId AddDict() { return AddItems(DumpValue::Kind::kDict); }
  // To a list: an element; to a dict: a key, then its value.
  void Append(ValueId container, ValueId item);

  [[nodiscard]] std::size_t size() const { return values_.size(); }
  [[nodiscard]] const DumpValue& At(ValueId id) const;  // kNoValue: one of kind kNone
  // Elements of a list; keys and values in turn of a dict; of anything else none.
  [[nodiscard]] const std::vector<ValueId>& ItemsOf(ValueId id) const;
  // The value of a dict's key, the last one of two; kNoValue: not there, or no dict.
  [[nodiscard]] ValueId Find(ValueId dict, std::string_view key) const;

  // Texts of whole numbers count as such: some writers have them so.
  [[nodiscard]] std::optional<std::int64_t> Integer(ValueId id) const;
  [[nodiscard]] std::optional<double> Number(ValueId id) const;
  [[nodiscard]] std::string_view Text(ValueId id) const;  // empty: no text

  // Items that Find and ItemsOf have gone over, of all calls: a small file may refer to one list a
  // million times.
  [[nodiscard]] std::uint64_t visited() const { return visited_; }

 private:
  ValueId AddItems(DumpValue::Kind kind);

  std::vector<DumpValue> values_;
  std::vector<std::vector<ValueId>> items_;
  mutable std::uint64_t visited_ = 0;
};

}  // namespace reprise::flight_recorder
