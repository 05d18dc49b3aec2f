// Rows of the tables of attributes (node_fields.h, header_fields.h), and how to go through them.
#pragma once

#include <functional>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "et_schema/field_types.h"
#include "et_schema/sharing.h"

namespace reprise {

enum class Attribute : std::uint8_t;

// A member of a member.
template <auto kOuter, auto kInner>
struct Inner {
  constexpr auto& operator()(auto& of) const { return of.*kOuter.*kInner; }
};

// What a member pointer or an Inner is a member of, and its type.
template <typename C, typename T>
struct MemberTraits {
  using Class = C;
  using Value = T;
};
template <typename C, typename T>
MemberTraits<C, T> TraitsOf(T C::*);
template <typename A, typename B, typename C, typename T, A C::*kOuter, T B::*kInner>
MemberTraits<C, T> TraitsOf(Inner<kOuter, kInner>);

// Has the default of each member: what readers assume, and what IfSet() does not write.
template <typename T>
inline const T kDefault{};

struct Usual {};  // the type is field::UsualType
// An attribute that is one member: kMember is a pointer to it, or an Inner. `Type` is the one of
// field_types.h as which it is written, if not the usual one.
template <auto kMember, typename Type, Attribute kId>
struct FieldRow {
  using Class = typename decltype(TraitsOf(kMember))::Class;
  using Value = typename decltype(TraitsOf(kMember))::Value;
  using As = Type;
  static constexpr Attribute kAttribute = kId;

  std::string_view name;  // in files
  Written written = IfSet();
  // Place among the keys; from 100 on only if the value is not the default. All 0: as in the table.
  int json = 0;
  std::string_view key = {};  // in JSON, if not the name
  SharingRule sharing = {};

  // Of a Graph, whose members are functions, `index` is the node's.
  template <typename Owner, typename... Index>
  static constexpr decltype(auto) Of(Owner& owner, Index... index) {
    return std::invoke(kMember, owner, index...);
  }
  static const auto& Default() { return std::invoke(kMember, kDefault<Class>); }
  static bool IsDefault(const Class& owner) { return Of(owner) == Default(); }
};
template <Attribute kId, auto kMember, typename Type = Usual>
using NodeField = FieldRow<kMember, Type, kId>;
// Attributes of the header have no enumerator.
inline constexpr Attribute kNoAttribute{255};
template <auto kMember, typename Type = Usual>
using HeaderField = FieldRow<kMember, Type, kNoAttribute>;

// An attribute of a node that follows from several members: node_encoder.cc and node_decode.cc.
template <Attribute kId, typename Type>
struct ComputedField {
  static constexpr Attribute kAttribute = kId;
  using As = Type;

  std::string_view name;
  Written written;
};

// The type as which a row's value is written.
template <typename Row>
consteval auto WrittenType() {
  if constexpr (std::is_same_v<typename Row::As, Usual>) {
    return field::UsualType<typename Row::Value>();
  } else {
    return typename Row::As();
  }
}
template <typename Row>
using WrittenAs = decltype(WrittenType<Row>());

// Calls `visit(row)` for each row of a table.
template <typename Table, typename Visit>
constexpr void ForEachAttribute(const Table& table, const Visit& visit) {
  std::apply([&](const auto&... row) { (visit(row), ...); }, table);
}
// Of those that are one member.
template <typename Row>
concept HasMember = requires {
  typename Row::Value;
};
template <typename Table, typename Visit>
constexpr void ForEachMember(const Table& table, const Visit& visit) {
  ForEachAttribute(table, [&]<typename Row>(const Row& row) {
    if constexpr (HasMember<Row>) {
      visit(row);
    }
  });
}
// Calls `visit(a, b)` for the rows of a member in two tables with the same rows.
template <typename A, typename B, typename Visit>
constexpr void ForEachMember(const A& a, const B& b, const Visit& visit) {
  const auto visit_one = [&]<typename Row>(const Row& row, const auto& other) {
    if constexpr (HasMember<Row>) {
      visit(row, other);
    }
  };
  [&]<std::size_t... i>(std::index_sequence<i...>) {
    (visit_one(std::get<i>(a), std::get<i>(b)), ...);
  }
  (std::make_index_sequence<std::tuple_size_v<A>>());
}

// Members of an aggregate, for a check that a table has a row for each.
struct AnyValue {
  template <typename T>
  operator T() const;  // NOLINT(google-explicit-constructor): never defined
};
template <typename T, typename... Values>
consteval std::size_t MemberCount() {
  if constexpr (requires { T{Values{}..., AnyValue{}}; }) {
    return MemberCount<T, Values..., AnyValue>();
  } else {
    return sizeof...(Values);
  }
}
template <typename Table>
consteval std::size_t MemberRows(const Table& table) {
  std::size_t rows = 0;
  ForEachMember(table, [&](const auto&) { ++rows; });
  return rows;
}

}  // namespace reprise
