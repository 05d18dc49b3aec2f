// Attributes of Chakra's messages, written one after the other. Only et_schema sees this.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "et_schema/field_types.h"
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

  template <typename Type, typename Value>
  void Put(std::string_view name, const Value& value) {
    Write(Type{}, name, value);
  }
  template <typename Type, typename Value>
  void PutIf(bool wanted, std::string_view name, const Value& value) {
    if (wanted) {
      Put<Type>(name, value);
    }
  }
  void TextList(std::string_view name, const std::vector<std::string>& values) {
    Write(field::TextList{}, name, values);
  }

 private:
  void Write(field::Bool, std::string_view name, bool value) {
    Varint(name, attribute_field::kBool, value ? 1 : 0);
  }
  void Write(field::Int32, std::string_view name, std::int32_t value) {
    Varint(name, attribute_field::kInt32, static_cast<std::uint64_t>(std::int64_t{value}));
  }
  void Write(field::Int64, std::string_view name, std::int64_t value) {
    Varint(name, attribute_field::kInt64, static_cast<std::uint64_t>(value));
  }
  void Write(field::Count, std::string_view name, std::int64_t value) {
    Write(field::Int64{}, name, value);
  }
  void Write(field::Uint64, std::string_view name, std::int64_t value) {
    Varint(name, attribute_field::kUint64, static_cast<std::uint64_t>(value));
  }
  void Write(field::Fixed64, std::string_view name, std::uint64_t value) {
    Add(name, [&] { out_.Fixed64Field(attribute_field::kFixed64, value); });
  }
  void Write(field::Double, std::string_view name, double value) {
    Add(name,
        [&] { out_.Fixed64Field(attribute_field::kDouble, std::bit_cast<std::uint64_t>(value)); });
  }
  void Write(field::Text, std::string_view name, std::string_view value) {
    Add(name, [&] { out_.TextField(attribute_field::kString, value); });
  }
  template <typename Enum>
  void Write(field::Named<Enum>, std::string_view name, Enum value) {
    Write(field::Text{}, name, Name(value));
  }
  template <typename Values>
  void Write(field::Int32List, std::string_view name, const Values& values) {
    List(name, attribute_field::kInt32List, values, [&](auto value) { out_.Signed(value); });
  }
  void Write(field::Int32Triple, std::string_view name, const std::array<std::int32_t, 3>& values) {
    Write(field::Int32List{}, name, values);
  }
  template <typename Values>
  void Write(field::Int64List, std::string_view name, const Values& values) {
    List(name, attribute_field::kInt64List, values, [&](auto value) { out_.Signed(value); });
  }
  template <typename Values>
  void Write(field::Uint64List, std::string_view name, const Values& values) {
    List(name, attribute_field::kUint64List, values, [&](auto value) { out_.Varint(value); });
  }
  template <typename Values>
  void Write(field::Sint64List, std::string_view name, const Values& values) {
    List(name, attribute_field::kSint64List, values, [&](auto value) { out_.ZigZag(value); });
  }
  void Write(field::TextList, std::string_view name, const std::vector<std::string>& values) {
    Add(name, [&] {
      out_.Nested(attribute_field::kStringList, [&] {
        for (const std::string& value : values) {
          out_.TextField(kListValues, value);
        }
      });
    });
  }

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
