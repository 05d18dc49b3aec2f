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
template <typename Member>
struct MemberTraits;
template <typename T, typename C>
struct MemberTraits<T C::*> {
  using Class = C;
  using Value = T;
};
template <typename A, typename B, typename C, typename T, A C::*kOuter, T B::*kInner>
struct MemberTraits<Inner<kOuter, kInner>> {
  using Class = C;
  using Value = T;
};

// Has the default of each member: what readers assume, and what IfSet() does not write.
template <typename T>
inline const T kDefault{};

struct Usual {};
// An attribute that is one member: kMember is a pointer to it, or an Inner. `Type` is the one of
// field_types.h as which it is written, if not the usual one.
template <auto kMember, typename Type, Attribute kId>
struct FieldRow {
  using Class = typename MemberTraits<std::remove_cv_t<decltype(kMember)>>::Class;
  using Value = typename MemberTraits<std::remove_cv_t<decltype(kMember)>>::Value;
  using As = Type;
  static constexpr Attribute kAttribute = kId;

  std::string_view name;  // in files
  Written written = IfSet();
  int json = 0;               // place among the keys; from 100 on only if it is not the default
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
template <auto kMember, typename Type = Usual>
using HeaderField = FieldRow<kMember, Type, Attribute{255}>;

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
struct RowType : std::type_identity<typename Row::As> {};
template <auto kMember, Attribute kId>
struct RowType<FieldRow<kMember, Usual, kId>>
    : field::UsualType<typename FieldRow<kMember, Usual, kId>::Value> {};
template <typename Row>
using WrittenAs = typename RowType<Row>::type;

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
