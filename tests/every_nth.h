// Tests over many layouts or calls take every n-th of them; with REPRISE_LONG=1 all (scripts/test
// --long).
#pragma once

#include <cstddef>
#include <cstdlib>
#include <vector>

namespace reprise {

[[nodiscard]] inline bool RunsLong() { return std::getenv("REPRISE_LONG") != nullptr; }

template <typename T>
[[nodiscard]] std::vector<T> EveryNth(const std::vector<T>& all, std::size_t n) {
  std::vector<T> some;
  for (std::size_t i = 0; i < all.size(); i += RunsLong() ? 1 : n) {
    some.push_back(all[i]);
  }
  return some;
}

}  // namespace reprise
