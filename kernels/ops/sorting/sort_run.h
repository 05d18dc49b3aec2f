// Sorting of lines, for the operators that return them sorted and those that pick by rank.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/ops/common/row_lowering.h"

namespace reprise {

// Lines of n elements, dense; the first k of each in stable order, NaN as the largest.
struct SortJob {
  DenseOperand x;
  DType dtype = DType::kFloat32;
  std::int64_t lines = 0, n = 0, k = 0;
  bool descending = false;
  DenseOperand values;  // (lines, k), where wanted
  DenseOperand indices;
  bool want_values = true;
};
// `rows` is sort.cl's, its X of `dtype`, its I int64.
void AppendSort(RowLowering& rows, const SortJob& job);

// Unsigned integers in the order of what they stand for; equal where that is equal.
[[nodiscard]] inline std::uint32_t SortKey(float value) {
  if (std::isnan(value)) {
    return std::numeric_limits<std::uint32_t>::max();
  }
  const auto bits = std::bit_cast<std::uint32_t>(value + 0.0F);  // no -0
  return (bits >> 31U) != 0 ? ~bits : bits | 0x80000000U;
}
[[nodiscard]] inline std::uint64_t SortKey(double value) {
  if (std::isnan(value)) {
    return std::numeric_limits<std::uint64_t>::max();
  }
  const auto bits = std::bit_cast<std::uint64_t>(value + 0.0);
  return (bits >> 63U) != 0 ? ~bits : bits | (std::uint64_t{1} << 63U);
}
[[nodiscard]] inline std::uint64_t SortKey(std::int64_t value) {
  return static_cast<std::uint64_t>(value) ^ (std::uint64_t{1} << 63U);
}

template <typename Key>
struct SortItem {
  Key key;
  std::uint32_t index;
};
// The first k in order, of equal keys those of lower index first; what follows is in any order.
void SortItems(std::vector<SortItem<std::uint32_t>>& items, std::int64_t k);
void SortItems(std::vector<SortItem<std::uint64_t>>& items, std::int64_t k);

}  // namespace reprise
