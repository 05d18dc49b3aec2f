// Which rows of a table are left out of a fit together: those with the same values of a size, never
// random rows.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace reprise {

// A fifth of all values is left out at a time.
inline constexpr std::size_t kLeftOutParts = 5;

// Ways to leave out every `parts`-th of all values, by turns: true where the row's value is left
// out. Nothing where there are fewer than `fewest` values.
[[nodiscard]] inline std::vector<std::vector<bool>> PartsOfValues(std::span<const double> values,
                                                                  std::size_t parts,
                                                                  std::size_t fewest) {
  std::vector<double> sorted(values.begin(), values.end());
  std::ranges::sort(sorted);
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  if (sorted.size() < fewest) {
    return {};
  }
  std::vector<std::vector<bool>> left_out(std::min(parts, sorted.size()),
                                          std::vector<bool>(values.size()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto at = std::ranges::lower_bound(sorted, values[i]) - sorted.begin();
    left_out[static_cast<std::size_t>(at) % parts][i] = true;
  }
  return left_out;
}

// For each key's values: `each` gets the rows that the fit sees, and those that it does not.
template <typename Row, typename Key, typename Each>
void ForEachLeftOut(std::span<const Row> rows, const std::vector<Key>& keys, std::size_t fewest,
                    std::size_t parts, const Each& each) {
  for (const Key& key : keys) {
    std::vector<double> values;
    values.reserve(rows.size());
    for (const Row& row : rows) {
      values.push_back(key(row));
    }
    for (const std::vector<bool>& left_out : PartsOfValues(values, parts, fewest)) {
      std::vector<Row> seen;
      std::vector<Row> unseen;
      for (std::size_t i = 0; i < rows.size(); ++i) {
        (left_out[i] ? unseen : seen).push_back(rows[i]);
      }
      if (!seen.empty()) {
        each(std::span<const Row>(seen), std::span<const Row>(unseen));
      }
    }
  }
}

}  // namespace reprise
