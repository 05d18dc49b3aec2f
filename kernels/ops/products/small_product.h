// Products of small dense matrices in float32 on the calling thread: what is too small for a
// library's preparations, such as a block of attention scores.
#pragma once

#include <cstdint>

namespace reprise {

// Any matrix; strides in elements.
struct SmallLeft {
  const float* data = nullptr;
  std::int64_t row = 0, column = 0;
};

// Columns in panels of 32 (the last may have 16): column c of row k is at c / 32 × panel + k × row
// + c % 32. A row-major matrix has panels of 32.
struct SmallRight {
  static constexpr std::int64_t kPanel = 32;
  const float* data = nullptr;
  std::int64_t row = 0, panel = kPanel;
};

// d(m,n) = left(m,k) right(k,n), or added to d; row i of d is at d + i × row. n is a multiple of
// kSmallStep, k is one or more.
inline constexpr std::int64_t kSmallStep = 16;
void SmallProduct(std::int64_t m, std::int64_t n, std::int64_t k, const SmallLeft& left,
                  const SmallRight& right, float* d, std::int64_t row, bool add);

}  // namespace reprise
