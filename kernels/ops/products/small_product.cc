#include "kernels/ops/products/small_product.h"

#include <algorithm>

namespace reprise {
namespace {

// A panel of so many rows stays in the first cache while it meets every row of the left.
constexpr std::int64_t kDepth = 256;

// d and its neighbours in registers: kRows x (kVectors x kFloats) sums. Inlined into a function of
// each instruction set.
template <int kFloats, int kVectors, int kRows>
[[gnu::always_inline]] inline void Tile(std::int64_t k, const float* a, const SmallLeft& left,
                                        const float* b, std::int64_t b_row, float* d,
                                        std::int64_t d_row, bool add) {
  typedef float Lane __attribute__((vector_size(kFloats * 4), aligned(4), may_alias));
  Lane sum[kRows][kVectors];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      sum[r][v] = add ? *reinterpret_cast<const Lane*>(d + r * d_row + v * kFloats) : Lane{};
    }
  }
  for (std::int64_t i = 0; i < k; ++i) {
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const float x = a[r * left.row + i * left.column];
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) {
        sum[r][v] += x * *reinterpret_cast<const Lane*>(b + i * b_row + v * kFloats);
      }
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      *reinterpret_cast<Lane*>(d + r * d_row + v * kFloats) = sum[r][v];
    }
  }
}

// The last rows, fewer than kRows + 1.
template <int kFloats, int kVectors, int kRows>
[[gnu::always_inline]] inline void LastRows(std::int64_t rows, std::int64_t k, const float* a,
                                            const SmallLeft& left, const float* b,
                                            std::int64_t b_row, float* d, std::int64_t d_row,
                                            bool add) {
  if (rows == kRows) {
    Tile<kFloats, kVectors, kRows>(k, a, left, b, b_row, d, d_row, add);
  } else if constexpr (kRows > 1) {
    LastRows<kFloats, kVectors, kRows - 1>(rows, k, a, left, b, b_row, d, d_row, add);
  }
}

struct Product {
  std::int64_t m, n, k;
  SmallLeft left;
  SmallRight right;
  float* d;
  std::int64_t row;
  bool add;
};

// Columns c and on, as many as kVectors hold.
template <int kFloats, int kVectors, int kRows>
[[gnu::always_inline]] inline void Columns(const Product& p, std::int64_t c) {
  constexpr std::int64_t kPanel = SmallRight::kPanel;
  const float* b = p.right.data + c / kPanel * p.right.panel + c % kPanel;
  for (std::int64_t at = 0; at < p.k; at += kDepth) {
    const std::int64_t k = std::min(kDepth, p.k - at);
    const float* a = p.left.data + at * p.left.column;
    const float* rows = b + at * p.right.row;
    const bool add = p.add || at > 0;
    std::int64_t i = 0;
    for (; i + kRows <= p.m; i += kRows) {
      Tile<kFloats, kVectors, kRows>(k, a + i * p.left.row, p.left, rows, p.right.row,
                                     p.d + i * p.row + c, p.row, add);
    }
    LastRows<kFloats, kVectors, kRows - 1>(p.m - i, k, a + i * p.left.row, p.left, rows,
                                           p.right.row, p.d + i * p.row + c, p.row, add);
  }
}

template <int kFloats, int kVectors, int kRows>
[[gnu::always_inline]] inline void AllColumns(const Product& p) {
  std::int64_t c = 0;
  for (; c + kFloats * kVectors <= p.n; c += kFloats * kVectors) {
    Columns<kFloats, kVectors, kRows>(p, c);
  }
  if (c < p.n) {
    Columns<kFloats, 1, kRows>(p, c);
  }
}

using Function = void (*)(const Product& p);

// As many sums as there are registers for, besides those of a row of the right.
void Plain(const Product& p) { AllColumns<4, 2, 4>(p); }
#if defined(__x86_64__)
[[gnu::target("avx2,fma")]] void Avx2(const Product& p) { AllColumns<8, 2, 6>(p); }
[[gnu::target("avx512f,avx2,fma")]] void Avx512(const Product& p) { AllColumns<16, 2, 8>(p); }
#endif

Function ForThisProcessor() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) {
    return Avx512;
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    return Avx2;
  }
#endif
  return Plain;
}

}  // namespace

void SmallProduct(std::int64_t m, std::int64_t n, std::int64_t k, const SmallLeft& left,
                  const SmallRight& right, float* d, std::int64_t row, bool add) {
  static const Function run = ForThisProcessor();
  run({m, n, k, left, right, d, row, add});
}

}  // namespace reprise
