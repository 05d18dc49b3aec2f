// The median of numbers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <optional>
#include <vector>

namespace reprise {

// The value in the middle; of an even number of values the mean of the two, rounded down for whole
// numbers. Nothing of none. Reorders `values`.
template <typename Number>
[[nodiscard]] std::optional<Number> Median(std::vector<Number>& values) {
  if (values.empty()) {
    return std::nullopt;
  }
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return values.size() % 2 == 1 ? *middle
                                : std::midpoint(*std::max_element(values.begin(), middle), *middle);
}

}  // namespace reprise
