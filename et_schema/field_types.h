// The types of the fields in fields.def: how a value stands in a Node, in a view of a message, in a
// Graph, and in a file.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
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

// How a value is kept where a policy says keep.
enum class Kept : std::uint8_t {
  kPlain,       // as it is
  kUntilEnd,    // ns of the duration, its last ones
  kUntilStart,  // ns before the start
  kTime,        // ns of no node
  kSize,        // bytes
  kName,        // also mapped, or coarsened to the class of the operation
  kOwn,         // by converters/share/anonymize/anonymize_node.cc and its neighbours
};
// What a policy may say of a field, and what the presets say: letters k keep, m map, c coarsen,
// d drop.
struct SharingRule {
  int place = 0;             // in policies as printed
  std::string_view actions;  // that it may say
  std::string_view presets;  // what replay, simulate and statistics say
  Kept kept = Kept::kPlain;
};
constexpr SharingRule Sharing(int place, std::string_view actions, std::string_view presets,
                              Kept kept) {
  return {place, actions, presets, kept};
}

// CollectiveCommType: a kind's number is its first place here.
inline constexpr std::array kCollectiveTypes = {
    CommKind::kAllReduce,     CommKind::kReduce,    CommKind::kAllGather, CommKind::kGather,
    CommKind::kScatter,       CommKind::kBroadcast, CommKind::kAllToAll,  CommKind::kReduceScatter,
    CommKind::kReduceScatter, CommKind::kBarrier};

namespace field {

// How readers take an attribute's value. Readers accept integers and booleans of any width.
enum class Shape : std::uint8_t { kNumber, kText, kNumbers, kTexts, kReal };

// Value: in Node; View: in NodeView; Stored: in a Graph. kName: the member of AttributeProto's
// oneof that is written.
template <typename T, typename InGraph = T>
struct NumberType {
  using Value = T;
  using View = T;
  using Stored = InGraph;
  static constexpr Shape kShape = Shape::kNumber;
};
struct Int32 : NumberType<std::int32_t> {
  static constexpr std::string_view kName = "int32";
};
struct Int64 : NumberType<std::int64_t> {
  static constexpr std::string_view kName = "int64";
};
struct Uint64 : NumberType<std::int64_t> {
  static constexpr std::string_view kName = "uint64";
};
struct Fixed64 : NumberType<std::uint64_t> {
  static constexpr std::string_view kName = "fixed64";
};
struct Count : NumberType<std::int32_t> {
  static constexpr std::string_view kName = "int64";
};
struct Bool : NumberType<bool, std::uint8_t> {
  static constexpr std::string_view kName = "bool";
};
struct Double : NumberType<double> {
  static constexpr std::string_view kName = "double";
  static constexpr Shape kShape = Shape::kReal;
};

struct Text {
  using Value = std::string;
  using View = std::string_view;
  using Stored = std::uint32_t;  // StringPool::Id
  static constexpr std::string_view kName = "string";
  static constexpr Shape kShape = Shape::kText;
};
// An enumeration, written by its name.
template <typename Enum>
struct Named {
  using Value = Enum;
  using View = Enum;
  using Stored = Enum;
  static constexpr std::string_view kName = "string";
  static constexpr Shape kShape = Shape::kText;
};
using Kind = Named<OpKind>;
using Class = Named<OpClass>;
using Type = Named<DType>;
using Reduction = Named<ReduceOp>;
using Certainty = Named<GroupCertainty>;
using Ending = Named<SendEnd>;
// A collective, written as Chakra's CollectiveCommType.
struct Collective : NumberType<CommKind> {
  static constexpr std::string_view kName = "int64";
};

template <typename List>
struct NumbersType {
  using Value = List;
  using View = List;
  using Stored = List;
  static constexpr Shape kShape = Shape::kNumbers;
};
struct Int32List : NumbersType<std::vector<std::int32_t>> {
  static constexpr std::string_view kName = "int32_list";
};
struct Int32Triple : NumbersType<std::array<std::int32_t, 3>> {
  static constexpr std::string_view kName = "int32_list";
};
struct Int64List : NumbersType<std::vector<std::int64_t>> {
  static constexpr std::string_view kName = "int64_list";
};
struct Uint64List : NumbersType<std::vector<std::uint64_t>> {
  static constexpr std::string_view kName = "uint64_list";
};
struct Sint64List : NumbersType<std::vector<std::int64_t>> {
  static constexpr std::string_view kName = "sint64_list";
};
struct TextList : NumbersType<std::vector<std::string>> {
  static constexpr std::string_view kName = "string_list";
  static constexpr Shape kShape = Shape::kTexts;
};

}  // namespace field
}  // namespace reprise
