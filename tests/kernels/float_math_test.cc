// float_math.h against libm in double. Some 0.3 s.
#include "kernels/ops/common/float_math.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/ops/elementwise/elementwise_ops.h"
#include "kernels/ops/losses/softmax_loops.h"

namespace reprise {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// The largest of error(x) over both signs of steps of 2^-12 up to 12, and of all magnitudes.
template <typename Error>
double WorstOf(const Error& error) {
  double worst = 0;
  for (float x = 0x1p-12F; x < 12; x += 0x1p-12F) {
    worst = std::max({worst, error(x), error(-x)});
  }
  for (float x = std::numeric_limits<float>::min(); x < kInfinity; x *= 1.001F) {
    worst = std::max({worst, error(x), error(-x)});
  }
  return worst;
}

TEST(FloatMath, ErfKeepsItsRelativeError) {
  const double worst = WorstOf([](float x) {
    const double exact = std::erf(static_cast<double>(x));
    return std::fabs(static_cast<double>(loops::Erf(x)) / exact - 1);
  });
  EXPECT_LT(worst, 4e-7);
  EXPECT_GT(worst, 0);
}

TEST(FloatMath, GeluAndItsSlopeKeepTheirAbsoluteErrors) {
  const double gelu = WorstOf([](float x) {
    const double exact = 0.5 * x * std::erfc(-x * M_SQRT1_2);
    return std::fabs(static_cast<double>(loops::Gelu(x)) - exact) / std::max(1.0, std::fabs(exact));
  });
  EXPECT_LT(gelu, 1e-6);
  const double near_zero = WorstOf([](float x) {
    const double exact = 0.5 * x * std::erfc(-x * M_SQRT1_2);
    return std::fabs(x) < 1 ? std::fabs(static_cast<double>(loops::Gelu(x)) / exact - 1) : 0;
  });
  EXPECT_LT(near_zero, 5e-6);
  const double slope = WorstOf([](float x) {
    return std::fabs(static_cast<double>(loops::GeluSlope(x)) -
                     loops::GeluSlope(static_cast<double>(x)));
  });
  EXPECT_LT(slope, 1e-6);
}

TEST(FloatMath, EndsAreExact) {
  for (const float x : {3.94F, 100.0F, 1e30F, kInfinity}) {
    EXPECT_EQ(loops::Erf(x), 1);
    EXPECT_EQ(loops::Erf(-x), -1);
  }
  for (const float x : {6.1F, 1e20F, 3e38F}) {
    EXPECT_EQ(loops::Gelu(x), x);
    EXPECT_EQ(loops::Gelu(-x), 0);
    EXPECT_EQ(loops::GeluSlope(x), 1);
    EXPECT_EQ(loops::GeluSlope(-x), 0);
  }
  EXPECT_EQ(loops::Gelu(kInfinity), kInfinity);
  EXPECT_EQ(loops::Gelu(-kInfinity), 0);
  EXPECT_TRUE(std::isnan(loops::Gelu(kNaN)));
  EXPECT_TRUE(std::isnan(loops::GeluSlope(kNaN)));
  EXPECT_TRUE(std::isnan(loops::Erf(kNaN)));
  EXPECT_TRUE(std::signbit(loops::Erf(-0.0F)));
  constexpr float kTiny = std::numeric_limits<float>::denorm_min();
  EXPECT_NEAR(loops::Erf(kTiny), 0, 2 * kTiny);
  EXPECT_NEAR(loops::GeluSlope(kTiny), 0.5, 1e-6);
}

// The exponential that softmax and attention use, in its range and at both ends of it.
TEST(FloatMath, ExpKeepsItsRelativeError) {
  std::vector<float> x;
  for (float value = -87.3F; value < 88.3F; value += 0x1p-8F) {
    x.push_back(value);
  }
  std::vector<float> y(x.size());
  loops::Exp(x.data(), 0, y.data(), std::ssize(x));
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double exact = std::exp(static_cast<double>(x[i]));
    worst = std::max(worst, std::fabs(static_cast<double>(y[i]) / exact - 1));
  }
  EXPECT_LT(worst, 3e-7);
  EXPECT_GT(worst, 1e-8);
  const std::array<float, 3> beyond = {-kInfinity, -100, 200};
  std::array<float, 3> ends{};
  loops::Exp(beyond.data(), 0, ends.data(), std::ssize(beyond));
  // Nothing, and not the smallest normal number: divided by a sum, that would be a denormal.
  EXPECT_EQ(ends[0], 0);
  EXPECT_EQ(ends[1], 0);
  EXPECT_NEAR(ends[2] / std::exp(88.3F), 1, 1e-5);
}

// The vectorised loops say the same as one call, whatever is left over at their ends, and in place.
TEST(FloatMath, LoopsAgreeWithOneCall) {
  const ElementwiseOp* gelu = FindElementwiseOp("gelu");
  ASSERT_NE(gelu, nullptr);
  for (const int n : {0, 1, 15, 16, 33, 511}) {
    std::vector<float> x(static_cast<std::size_t>(n) + 1);
    for (std::size_t i = 0; i < x.size(); ++i) {
      x[i] = i % 7 == 3 ? kNaN : i % 7 == 5 ? -kInfinity : static_cast<float>(i % 100) / 8 - 6;
    }
    std::vector<float> y = x;
    gelu->run_float(y.data(), y.data(), y.data(), 0, y.data(), n);
    for (std::size_t i = 0; i + 1 < x.size(); ++i) {
      const float one = loops::Gelu(x[i]);
      EXPECT_TRUE(std::isnan(one) ? std::isnan(y[i]) : std::fabs(y[i] - one) < 2e-6F) << x[i];
    }
    EXPECT_TRUE(y.back() == x.back() || std::isnan(x.back()));  // not the next one
  }
}

}  // namespace
}  // namespace reprise
