// How many ranks divide something, before and after.
#pragma once

#include <cstdint>

namespace reprise {

// A buffer is divided among `from` ranks in the source, among `to` in the result.
struct DividedAmong {
  std::int64_t from = 1, to = 1;
  bool operator==(const DividedAmong&) const = default;
};

// `times`: from / to times as large, for each; below 0: the inverse. -1: not a whole number.
[[nodiscard]] constexpr std::int64_t ScaledBy(std::int64_t number, int times,
                                              const DividedAmong& division) {
  for (; times > 0 && number > 0; --times) {
    number = number * division.from % division.to == 0 ? number * division.from / division.to : -1;
  }
  for (; times < 0 && number > 0; ++times) {
    number = number * division.to % division.from == 0 ? number * division.to / division.from : -1;
  }
  return number;
}

}  // namespace reprise
