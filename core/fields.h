// The members of plain structs (aggregates without bases), in order, without a list of them to
// keep.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

namespace reprise {

namespace fields_internal {

struct AnyValue {
  template <typename T>
  operator T() const {        // NOLINT(google-explicit-constructor)
    __builtin_unreachable();  // never called
  }
};

template <typename Struct, std::size_t... Index>
constexpr bool TakesSoMany(std::index_sequence<Index...> /*numbers*/) {
  return requires { Struct{(static_cast<void>(Index), AnyValue{})...}; };
}

inline constexpr std::size_t kMostFields = 70;

// An aggregate takes as many values in braces as it has members.
template <typename Struct, std::size_t kCount = kMostFields>
constexpr std::size_t CountFields() {
  if constexpr (kCount == 0 || TakesSoMany<Struct>(std::make_index_sequence<kCount>())) {
    return kCount;
  } else {
    return CountFields<Struct, kCount - 1>();
  }
}

}  // namespace fields_internal

#define REPRISE_1(p) p##0
#define REPRISE_2(p) REPRISE_1(p), p##1
#define REPRISE_3(p) REPRISE_2(p), p##2
#define REPRISE_4(p) REPRISE_3(p), p##3
#define REPRISE_5(p) REPRISE_4(p), p##4
#define REPRISE_6(p) REPRISE_5(p), p##5
#define REPRISE_7(p) REPRISE_6(p), p##6
#define REPRISE_8(p) REPRISE_7(p), p##7
#define REPRISE_9(p) REPRISE_8(p), p##8
#define REPRISE_10(p) REPRISE_9(p), p##9
#define REPRISE_BIND(count, ...)                                             \
  if constexpr (kCount == (count)) {                                         \
    auto& [__VA_ARGS__] = row;                                               \
    const auto each = [&visit](auto&... members) { (visit(members), ...); }; \
    each(__VA_ARGS__);                                                       \
  }
// Structs of `more` to `more` + 10 members, whose first ones are named.
#define REPRISE_BIND_TEN(more, ...)                  \
  REPRISE_BIND((more) + 1, __VA_ARGS__ REPRISE_1(z)) \
  REPRISE_BIND((more) + 2, __VA_ARGS__ REPRISE_2(z)) \
  REPRISE_BIND((more) + 3, __VA_ARGS__ REPRISE_3(z)) \
  REPRISE_BIND((more) + 4, __VA_ARGS__ REPRISE_4(z)) \
  REPRISE_BIND((more) + 5, __VA_ARGS__ REPRISE_5(z)) \
  REPRISE_BIND((more) + 6, __VA_ARGS__ REPRISE_6(z)) \
  REPRISE_BIND((more) + 7, __VA_ARGS__ REPRISE_7(z)) \
  REPRISE_BIND((more) + 8, __VA_ARGS__ REPRISE_8(z)) \
  REPRISE_BIND((more) + 9, __VA_ARGS__ REPRISE_9(z)) \
  REPRISE_BIND((more) + 10, __VA_ARGS__ REPRISE_10(z))

// visit(member) for each member of `row`, which may be const.
template <typename Struct, typename Visit>
void VisitFields(Struct& row, Visit&& visit) {
  constexpr std::size_t kCount = fields_internal::CountFields<std::remove_const_t<Struct>>();
  static_assert(kCount > 0 && kCount <= 60, "more members than REPRISE_BIND_TEN below takes");
  REPRISE_BIND_TEN(0, )
  REPRISE_BIND_TEN(10, REPRISE_10(a), )
  REPRISE_BIND_TEN(20, REPRISE_10(a), REPRISE_10(b), )
  REPRISE_BIND_TEN(30, REPRISE_10(a), REPRISE_10(b), REPRISE_10(c), )
  REPRISE_BIND_TEN(40, REPRISE_10(a), REPRISE_10(b), REPRISE_10(c), REPRISE_10(d), )
  REPRISE_BIND_TEN(50, REPRISE_10(a), REPRISE_10(b), REPRISE_10(c), REPRISE_10(d), REPRISE_10(e), )
}

#undef REPRISE_1
#undef REPRISE_2
#undef REPRISE_3
#undef REPRISE_4
#undef REPRISE_5
#undef REPRISE_6
#undef REPRISE_7
#undef REPRISE_8
#undef REPRISE_9
#undef REPRISE_10
#undef REPRISE_BIND
#undef REPRISE_BIND_TEN

}  // namespace reprise
