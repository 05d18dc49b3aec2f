#include "kernels/ops/losses/softmax_loops.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

#include "kernels/ops/common/float_math.h"
#include "kernels/ops/common/host_clones.h"
#include "kernels/ops/common/host_loops.h"

namespace reprise::loops {
namespace {

// exp(x) up to exp(88.3): 2^k exp(r), |r| <= ln 2 / 2. What would not be normal is 0: what a mask
// leaves out must be nothing, and not a denormal once it is divided by the sum. (std::exp
// vectorises too, by libmvec, which takes such arguments one by one.) The polynomial is the one of
// degree 5, 1 at 0, with the least relative error there, 9.2e-8 (found by Remez' exchange). Inlined
// into each copy of its callers.
[[gnu::always_inline]] inline float ExpOf(float x) {
  // By integers, since compilers keep the order of comparisons where NaN may be: negative floats
  // grow in magnitude as unsigned numbers do, positive ones as signed numbers do.
  constexpr auto kLowest = std::bit_cast<std::uint32_t>(-87.33654F);  // exp of less is not normal
  constexpr auto kHighest = std::bit_cast<std::int32_t>(88.3F);
  const auto bits = BitCast<std::uint32_t>(
      BitCast<std::int32_t>(x) < kHighest ? BitCast<std::int32_t>(x) : kHighest);
  const auto bounded = BitCast<float>(bits < kLowest ? bits : kLowest);
  // A sum this large has no room for a fraction, and ends in the bits of k + 127.
  constexpr float kWhole = 12582912.0F + 127;
  constexpr float kLog2E = 1.44269504F;
  const float whole = bounded * kLog2E + kWhole;
  const float k = whole - kWhole;
  const float r = (bounded - k * 0.693359375F) + k * 2.12194440e-4F;  // ln 2 in two parts
  float p = 8.290306194e-3F * r + 4.189797535e-2F;
  p = p * r + 1.666763658e-1F;
  p = p * r + 4.999914919e-1F;
  p = p * r + 9.999997070e-1F;
  const auto power = BitCast<float>(BitCast<std::int32_t>(whole) << 23);
  const float y = p * r * power + power;
  return BitCast<float>(bits < kLowest ? BitCast<std::uint32_t>(y) : 0);
}

// Integers in the order of floats; its own inverse.
[[gnu::always_inline]] inline std::int32_t Ordered(std::int32_t bits) {
  constexpr std::int32_t kMagnitude = 0x7fffffff;
  return bits ^ ((bits >> 31) & kMagnitude);
}
constexpr auto kMin = std::bit_cast<std::int32_t>(-std::numeric_limits<float>::infinity());

}  // namespace

REPRISE_CLONES void Exp(const float* x, float top, float* y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    y[i] = ExpOf(x[i] - top);
  }
}
double ExpSum(const float* x, float top, float* y, std::int64_t n) {
  Exp(x, top, y, n);
  return Sum(y, n);
}
double SumOfExp(const float* x, float top, std::int64_t n) {
  std::array<float, 1024> powers;
  double sum = 0;
  for (std::int64_t at = 0; at < n; at += std::ssize(powers)) {
    sum += ExpSum(x + at, top, powers.data(), std::min(n - at, std::ssize(powers)));
  }
  return sum;
}
REPRISE_CLONES float Max(const float* x, std::int64_t n) {
  std::int32_t most = Ordered(kMin);
  for (std::int64_t i = 0; i < n; ++i) {
    most = std::max(most, Ordered(BitCast<std::int32_t>(x[i])));
  }
  return BitCast<float>(Ordered(most));
}
REPRISE_CLONES void MaskOut(const float* let, float* row, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    row[i] = let[i] != 0 ? row[i] : -std::numeric_limits<float>::infinity();
  }
}

REPRISE_CLONES void SoftmaxGradient(const float* g, const float* y, float sum, float* dx,
                                    std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    dx[i] = y[i] * (g[i] - sum);
  }
}

REPRISE_CLONES void LogSoftmaxGradient(const float* g, const float* y, float sum, float* dx,
                                       std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    dx[i] = g[i] - ExpOf(y[i]) * sum;
  }
}

}  // namespace reprise::loops
