// The types of attributes: how a value of a Node or header is written in a file.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/comm.h"
#include "core/operators.h"

namespace reprise {

// When a field is written, and what stands for it where it is absent.
struct Written {
  bool always = true;
  // As docs/et_format.md has it in the column "absent"; empty: nothing where it is always written,
  // else the member's default.
  std::string_view absent;
};
constexpr Written Always(std::string_view absent = {}) { return {true, absent}; }
// Only where it differs from the member's default, which readers then assume.
constexpr Written IfSet(std::string_view absent = {}) { return {false, absent}; }

// CollectiveCommType: a kind's number is its first place here.
inline constexpr std::array kCollectiveTypes = {
    CommKind::kAllReduce,     CommKind::kReduce,    CommKind::kAllGather, CommKind::kGather,
    CommKind::kScatter,       CommKind::kBroadcast, CommKind::kAllToAll,  CommKind::kReduceScatter,
    CommKind::kReduceScatter, CommKind::kBarrier};

namespace field {

// How readers take an attribute's value. Readers accept integers and booleans of any width.
enum class Shape : std::uint8_t { kNumber, kText, kNumbers, kTexts, kReal };

// kName: the member of AttributeProto's oneof that is written.
template <Shape kOf>
struct Typed {
  static constexpr Shape kShape = kOf;
};
struct Int32 : Typed<Shape::kNumber> {
  static constexpr std::string_view kName = "int32";
};
struct Int64 : Typed<Shape::kNumber> {
  static constexpr std::string_view kName = "int64";
};
struct Uint64 : Typed<Shape::kNumber> {
  static constexpr std::string_view kName = "uint64";
};
struct Fixed64 : Typed<Shape::kNumber> {
  static constexpr std::string_view kName = "fixed64";
};
// An std::int32_t.
struct Count : Typed<Shape::kNumber> {
  static constexpr std::string_view kName = "int64";
};
struct Bool : Typed<Shape::kNumber> {
  static constexpr std::string_view kName = "bool";
};
struct Double : Typed<Shape::kReal> {
  static constexpr std::string_view kName = "double";
};
struct Text : Typed<Shape::kText> {
  static constexpr std::string_view kName = "string";
};
// An enumeration, written by its name.
template <typename Enum>
struct Named : Typed<Shape::kText> {
  static constexpr std::string_view kName = "string";
};
// A collective, written as Chakra's CollectiveCommType.
struct Collective : Typed<Shape::kNumber> {
  static constexpr std::string_view kName = "int64";
};
struct Int32List : Typed<Shape::kNumbers> {
  static constexpr std::string_view kName = "int32_list";
};
struct Int32Triple : Typed<Shape::kNumbers> {
  static constexpr std::string_view kName = "int32_list";
};
struct Int64List : Typed<Shape::kNumbers> {
  static constexpr std::string_view kName = "int64_list";
};
struct Uint64List : Typed<Shape::kNumbers> {
  static constexpr std::string_view kName = "uint64_list";
};
struct Sint64List : Typed<Shape::kNumbers> {
  static constexpr std::string_view kName = "sint64_list";
};
struct TextList : Typed<Shape::kTexts> {
  static constexpr std::string_view kName = "string_list";
};

// The type as which a member of type T is written, unless its row says another.
template <typename T>
consteval auto UsualType() {
  if constexpr (std::is_same_v<T, CommKind>) {
    return Collective();
  } else if constexpr (std::is_enum_v<T>) {
    return Named<T>();
  } else if constexpr (std::is_same_v<T, bool>) {
    return Bool();
  } else if constexpr (std::is_same_v<T, std::int32_t>) {
    return Int32();
  } else if constexpr (std::is_same_v<T, std::int64_t>) {
    return Int64();
  } else if constexpr (std::is_same_v<T, double>) {
    return Double();
  } else if constexpr (std::is_convertible_v<T, std::string_view>) {
    return Text();
  } else if constexpr (std::is_same_v<T, std::array<std::int32_t, 3>>) {
    return Int32Triple();
  } else if constexpr (std::is_same_v<T, std::vector<std::int64_t>>) {
    return Int64List();
  } else if constexpr (std::is_same_v<T, std::vector<std::uint64_t>>) {
    return Uint64List();
  } else {
    static_assert(std::is_same_v<T, std::vector<std::string>>);
    return TextList();
  }
}

}  // namespace field
}  // namespace reprise
