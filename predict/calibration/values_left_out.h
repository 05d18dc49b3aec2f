// Which rows of a table are left out of a fit together: those with the same values of a size.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace reprise {

// Five ways to leave a fifth of all values out: true where the row's value is left out. Nothing
// where there are fewer than five values.
[[nodiscard]] inline std::vector<std::vector<bool>> FifthsOfValues(std::span<const double> values) {
  constexpr std::size_t kParts = 5;
  std::vector<double> sorted(values.begin(), values.end());
  std::ranges::sort(sorted);
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  if (sorted.size() < kParts) {
    return {};
  }
  std::vector<std::vector<bool>> parts(kParts, std::vector<bool>(values.size()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto at = std::ranges::lower_bound(sorted, values[i]) - sorted.begin();
    parts[static_cast<std::size_t>(at) % kParts][i] = true;
  }
  return parts;
}

}  // namespace reprise
