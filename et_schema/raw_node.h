// A node's fields and attributes as views, of a message of an `.et` file or of another source. Only
// et_schema sees this.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "et_schema/node_fields.h"
#include "et_schema/storage.h"
#include "et_schema/wire.h"

namespace reprise {

[[nodiscard]] std::string_view Name(Attribute attribute);
// Added to a number of the attribute dep_reasons where the edge was inferred.
inline constexpr std::int64_t kInferredReason = 128;

// One AttributeProto: which member of the oneof it holds, by field number (0: none).
struct RawAttribute {
  std::string_view name;
  std::uint32_t field = 0;
  std::uint64_t bits = 0;  // scalars
  std::string_view bytes;  // strings, bytes, lists (the list message)

  [[nodiscard]] bool IsList() const { return field >= 3 && field % 2 == 0; }
  // Integers of any width and bool; false for everything else.
  [[nodiscard]] bool AsInt(std::int64_t& value) const {
    constexpr std::uint32_t kInt64Field = 9;  // what nearly all are
    value = static_cast<std::int64_t>(bits);
    return field == kInt64Field || AsOtherInt(value);
  }
  [[nodiscard]] bool AsDouble(double& value) const;  // float, double
  [[nodiscard]] bool AsText(std::string_view& value) const;
  [[nodiscard]] bool AsInts(std::vector<std::int64_t>& values) const;  // replaces `values`
  [[nodiscard]] bool AsTexts(std::vector<std::string_view>& values) const;

 private:
  [[nodiscard]] bool AsOtherInt(std::int64_t& value) const;
};
// How the value of a field of AttributeProto's oneof is encoded; fields 3 to 32.
[[nodiscard]] WireType AttributeWireType(std::uint32_t field);
[[nodiscard]] bool ParseAttribute(std::string_view message, RawAttribute& attribute);

struct RawIo {
  std::string_view values, shapes, types;
  bool operator==(const RawIo&) const = default;
};

// Reused from node to node, so that lists keep their memory.
class RawNode {
 public:
  // False: not a Node message. Views point into `message`.
  [[nodiscard]] bool Parse(std::string_view message);
  // Another source clears, sets the members, and adds the attributes one by one. `value` has AsInt,
  // AsText and AsInts, as RawAttribute has them.
  void Clear();
  template <typename Value>
  void Add(std::string_view attribute, const Value& value) {
    static_cast<void>(AddOne(attribute, value));
  }

  std::uint64_t id = 0;
  std::string_view name;
  std::uint32_t type = 0;
  std::vector<std::uint64_t> ctrl_deps, data_deps;
  std::uint64_t start_micros = 0;
  std::uint64_t duration_micros = 0;
  RawIo inputs, outputs;
  std::optional<StorageWork> storage;
  std::uint64_t unknown_fields = 0;  // of its message: what the schema does not have

  [[nodiscard]] bool Has(Attribute a) const { return ((present_ >> Index(a)) & 1) != 0; }
  [[nodiscard]] std::int64_t Number(Attribute a, std::int64_t fallback) const {
    return Has(a) ? numbers_[Index(a)] : fallback;
  }
  [[nodiscard]] std::string_view Text(Attribute a) const {
    return Has(a) ? texts_[Index(a)] : std::string_view();
  }
  // Empty if absent.
  [[nodiscard]] const std::vector<std::int64_t>& Numbers(Attribute a) const {
    return Has(a) ? List(a) : no_numbers_;
  }

  // Attributes that are none of ours, and those with a value of the wrong type.
  std::vector<std::string_view> unknown_attributes;
  std::vector<std::string_view> mistyped_attributes;

 private:
  static_assert(kAttributeCount <= 64);
  [[nodiscard]] static std::size_t Index(Attribute a) { return static_cast<std::size_t>(a); }
  // Index of the attribute, kAttributeCount if it is none of ours.
  [[nodiscard]] static std::size_t Find(std::string_view attribute);
  [[nodiscard]] static field::Shape ShapeOf(std::size_t attribute);
  // Of an attribute that is present.
  [[nodiscard]] const std::vector<std::int64_t>& List(Attribute a) const;
  [[nodiscard]] bool AddAttribute(std::string_view message);
  // Attributes come in the same order in almost every node, so the one that followed last time is
  // tried first, by its bytes up to the value. False: the guess was wrong.
  [[nodiscard]] bool AddExpected(std::string_view message);
  void Learn(std::size_t index, std::string_view message, const RawAttribute& raw);
  // Index of the attribute; kAttributeCount: none of ours, or its value has the wrong type.
  template <typename Value>
  [[nodiscard]] std::size_t AddOne(std::string_view attribute, const Value& value) {
    const std::size_t index = Find(attribute);
    if (index == kAttributeCount) {
      unknown_attributes.push_back(attribute);
      return index;
    }
    if (!Set(index, value)) {
      mistyped_attributes.push_back(attribute);
      return kAttributeCount;
    }
    present_ |= std::uint64_t{1} << index;
    return index;
  }
  // False: the value has the wrong type.
  template <typename Value>
  [[nodiscard]] bool Set(std::size_t attribute, const Value& value) {
    switch (ShapeOf(attribute)) {
      case field::Shape::kNumber:
        return value.AsInt(numbers_[attribute]);
      case field::Shape::kText:
        return value.AsText(texts_[attribute]);
      case field::Shape::kNumbers:
        if (list_count_ == lists_.size()) {
          lists_.emplace_back();
        }
        lists_[list_count_].first = static_cast<Attribute>(attribute);
        if (!value.AsInts(lists_[list_count_].second)) {
          return false;
        }
        ++list_count_;
        return true;
      case field::Shape::kTexts:
      case field::Shape::kReal:
        break;  // in headers only
    }
    return false;
  }

  std::uint64_t present_ = 0;
  std::array<std::int64_t, kAttributeCount> numbers_{};
  std::array<std::string_view, kAttributeCount> texts_{};
  // Few attributes are lists: (attribute, values), the first list_count_ in use.
  std::vector<std::pair<Attribute, std::vector<std::int64_t>>> lists_;
  std::size_t list_count_ = 0;
  std::vector<std::int64_t> no_numbers_;

  struct Encoding {
    std::array<char, 32> prefix{};  // everything before the value
    std::uint8_t length = 0;        // 0: not seen yet
    std::uint8_t field = 0;
    WireType wire{};
    bool is_number = false;
  };
  std::array<Encoding, kAttributeCount> encodings_{};
  std::array<std::uint8_t, kAttributeCount + 1> followers_{};  // last entry: the first attribute
  std::size_t last_ = kAttributeCount;
};

struct RawMetadata {
  std::string_view version;
  std::vector<RawAttribute> attributes;
  [[nodiscard]] bool Parse(std::string_view message);
};

}  // namespace reprise
