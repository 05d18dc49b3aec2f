// Attributes of Chakra's messages, written one after the other. Only et_schema sees this.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "et_schema/wire_buffer.h"

namespace reprise {

// Field numbers of AttributeProto (et_def.proto).
namespace attribute_field {
inline constexpr std::uint32_t kName = 1, kDouble = 3, kInt32 = 7, kInt32List = 8, kInt64 = 9;
inline constexpr std::uint32_t kInt64List = 10, kUint64 = 13, kUint64List = 14, kSint64List = 18;
inline constexpr std::uint32_t kFixed64 = 21, kBool = 27, kString = 29, kStringList = 30;
}  // namespace attribute_field
inline constexpr std::uint32_t kListValues = 1;  // of every list message

// Adds attributes to a message; `field` is that message's list of them.
class Attributes {
 public:
  Attributes(WireBuffer& out, std::uint32_t field) : out_(out), field_(field) {}

  void Bool(std::string_view name, bool value) {
    Varint(name, attribute_field::kBool, value ? 1 : 0);
  }
  void Int32(std::string_view name, std::int32_t value) {
    Varint(name, attribute_field::kInt32, static_cast<std::uint64_t>(std::int64_t{value}));
  }
  void Int64(std::string_view name, std::int64_t value) {
    Varint(name, attribute_field::kInt64, static_cast<std::uint64_t>(value));
  }
  void Uint64(std::string_view name, std::uint64_t value) {
    Varint(name, attribute_field::kUint64, value);
  }
  void Fixed64(std::string_view name, std::uint64_t value) {
    Add(name, [&] { out_.Fixed64Field(attribute_field::kFixed64, value); });
  }
  void Double(std::string_view name, double value) {
    Add(name,
        [&] { out_.Fixed64Field(attribute_field::kDouble, std::bit_cast<std::uint64_t>(value)); });
  }
  void Text(std::string_view name, std::string_view value) {
    Add(name, [&] { out_.TextField(attribute_field::kString, value); });
  }
  void TextUnlessEmpty(std::string_view name, std::string_view value) {
    if (!value.empty()) {
      Text(name, value);
    }
  }
  void Int32Unless(std::string_view name, std::int32_t value, std::int32_t absent) {
    if (value != absent) {
      Int32(name, value);
    }
  }
  void Int64Unless(std::string_view name, std::int64_t value, std::int64_t absent) {
    if (value != absent) {
      Int64(name, value);
    }
  }
  template <typename Values>
  void Int32List(std::string_view name, const Values& values) {
    List(name, attribute_field::kInt32List, values, [&](auto value) { out_.Signed(value); });
  }
  template <typename Values>
  void Int64List(std::string_view name, const Values& values) {
    List(name, attribute_field::kInt64List, values, [&](auto value) { out_.Signed(value); });
  }
  template <typename Values>
  void Uint64List(std::string_view name, const Values& values) {
    List(name, attribute_field::kUint64List, values, [&](auto value) { out_.Varint(value); });
  }
  template <typename Values>
  void Sint64List(std::string_view name, const Values& values) {
    List(name, attribute_field::kSint64List, values,
         [&](auto value) { out_.Varint(ZigZagEncode(value)); });
  }
  void TextList(std::string_view name, const std::vector<std::string>& values) {
    Add(name, [&] {
      out_.Nested(attribute_field::kStringList, [&] {
        for (const std::string& value : values) {
          out_.TextField(kListValues, value);
        }
      });
    });
  }

 private:
  template <typename Fill>
  void Add(std::string_view name, const Fill& fill) {
    out_.Nested(field_, [&] {
      out_.BytesField(attribute_field::kName, name);
      fill();
    });
  }
  void Varint(std::string_view name, std::uint32_t field, std::uint64_t value) {
    Add(name, [&] { out_.VarintField(field, value); });
  }
  template <typename Values, typename Put>
  void List(std::string_view name, std::uint32_t field, const Values& values, const Put& put) {
    Add(name, [&] {
      out_.Nested(field, [&] {
        if (!std::empty(values)) {
          out_.Nested(kListValues, [&] {
            for (const auto value : values) {
              put(value);
            }
          });
        }
      });
    });
  }

  WireBuffer& out_;
  std::uint32_t field_;
};

}  // namespace reprise
