// Products of small matrices against sums in double: every number of last rows, panels, depths.
#include "kernels/ops/products/small_product.h"

#include <gtest/gtest.h>

#include <tuple>
#include <vector>

namespace reprise {
namespace {

// Small whole numbers: products are exact.
std::vector<float> Numbers(std::int64_t count, std::int64_t factor) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < count; ++i) {
    values.push_back(static_cast<float>(i * factor % 13 - 6));
  }
  return values;
}

using Shape = std::tuple<std::int64_t, std::int64_t, std::int64_t>;

class SmallProducts : public testing::TestWithParam<Shape> {};

TEST_P(SmallProducts, AreSumsOfProducts) {
  const auto [m, n, k] = GetParam();
  const std::vector<float> a = Numbers(m * k, 7);
  const std::vector<float> b = Numbers(k * n, 5);
  const std::int64_t row = n + 3;
  for (const bool across : {false, true}) {
    for (const bool add : {false, true}) {
      const SmallLeft left{a.data(), across ? 1 : k, across ? m : 1};
      std::vector<float> d(static_cast<std::size_t>(m * row), 2);
      SmallProduct(m, n, k, left, {b.data(), n}, d.data(), row, add);
      for (std::int64_t i = 0; i < m; ++i) {
        for (std::int64_t j = 0; j < row; ++j) {
          double sum = add || j >= n ? 2 : 0;  // nothing beside the result is written
          for (std::int64_t e = 0; j < n && e < k; ++e) {
            sum += static_cast<double>(left.data[i * left.row + e * left.column]) *
                   static_cast<double>(b[static_cast<std::size_t>(e * n + j)]);
          }
          ASSERT_EQ(d[static_cast<std::size_t>(i * row + j)], sum) << i << " " << j;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, SmallProducts,
                         testing::Combine(testing::Values(1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 23),
                                          testing::Values(16, 32, 48, 64),
                                          testing::Values(1, 31, 256, 300)));

// A panel after the other, each of 32 columns.
TEST(SmallProductPanels, TakePackedPanels) {
  constexpr std::int64_t kDepth = 5;
  const std::vector<float> a = Numbers(kDepth, 3);
  const std::vector<float> b = Numbers(kDepth * 64, 5);
  std::vector<float> d(64);
  SmallProduct(1, 64, kDepth, {a.data(), kDepth, 1}, {b.data(), 32, kDepth * 32}, d.data(), 64,
               false);
  for (std::int64_t j = 0; j < 64; ++j) {
    float sum = 0;
    for (std::int64_t e = 0; e < kDepth; ++e) {
      sum += a[static_cast<std::size_t>(e)] *
             b[static_cast<std::size_t>(j / 32 * kDepth * 32 + e * 32 + j % 32)];
    }
    EXPECT_EQ(d[static_cast<std::size_t>(j)], sum) << j;
  }
}

}  // namespace
}  // namespace reprise
