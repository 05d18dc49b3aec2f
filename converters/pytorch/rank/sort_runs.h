// Sorts what is mostly in order: the captures' lists are a few sorted runs one after the other (one
// for each thread), and merging those costs a fraction of sorting them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace reprise::pytorch {

// Stable. n log r for r runs; nothing moves if there is one.
template <typename T, typename Less>
void SortRuns(std::vector<T>& items, const Less& less) {
  using Offset = typename std::vector<T>::difference_type;
  std::vector<Offset> bounds = {0};
  for (std::size_t i = 1; i < items.size(); ++i) {
    if (less(items[i], items[i - 1])) {
      bounds.push_back(static_cast<Offset>(i));
    }
  }
  constexpr std::size_t kShortestRuns = 8;  // below, a sort is as good
  if (bounds.size() > items.size() / kShortestRuns + 1) {
    std::stable_sort(items.begin(), items.end(), less);
    return;
  }
  bounds.push_back(static_cast<Offset>(items.size()));
  while (bounds.size() > 2) {
    std::vector<Offset> merged = {0};
    for (std::size_t run = 2; run < bounds.size(); run += 2) {
      std::inplace_merge(items.begin() + bounds[run - 2], items.begin() + bounds[run - 1],
                         items.begin() + bounds[run], less);
      merged.push_back(bounds[run]);
    }
    if (merged.back() != bounds.back()) {
      merged.push_back(bounds.back());
    }
    bounds = std::move(merged);
  }
}

}  // namespace reprise::pytorch
