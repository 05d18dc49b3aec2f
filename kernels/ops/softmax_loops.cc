#include "kernels/ops/softmax_loops.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <numeric>

#include "kernels/ops/host_clones.h"
#include "kernels/ops/host_loops.h"

namespace reprise::loops {
namespace {

// GCC 12 vectorises none of these as std::bit_cast.
template <typename To, typename From>
[[gnu::always_inline]] inline To BitsOf(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to{};
  __builtin_memcpy(&to, &from, sizeof(to));
  return to;
}

// exp(x) = 2^k exp(r), |r| <= ln 2 / 2. The polynomial is the one of degree 6, 1 at 0, with the
// least relative error there, 2.6e-9 (found by Remez' exchange). Inlined into each copy of its
// callers.
[[gnu::always_inline]] inline float ExpOf(float x) {
  // By integers, since compilers keep the order of comparisons where NaN may be: negative floats
  // grow in magnitude as unsigned numbers do, positive ones as signed.
  constexpr auto kLowest = std::bit_cast<std::uint32_t>(-87.33654F);  // exp of less is not normal
  constexpr auto kHighest = std::bit_cast<std::int32_t>(88.3F);
  const auto least = std::min(BitsOf<std::uint32_t>(x), kLowest);
  const auto bounded = BitsOf<float>(std::min(static_cast<std::int32_t>(least), kHighest));
  // A sum this large has no room for a fraction, and ends in the bits of k + 127.
  constexpr float kWhole = 12582912.0F + 127;
  constexpr float kLog2E = 1.44269504F;
  const float whole = bounded * kLog2E + kWhole;
  const float k = whole - kWhole;
  const float r = (bounded - k * 0.693359375F) + k * 2.12194440e-4F;  // ln 2 in two parts
  float p = 1.406127672e-3F;
  p = p * r + 8.379020735e-3F;
  p = p * r + 4.16647765e-2F;
  p = p * r + 1.666636531e-1F;
  p = p * r + 5.000000435e-1F;
  p = p * r + 1.00000005F;
  const auto power = BitsOf<float>(BitsOf<std::int32_t>(whole) << 23);
  return p * r * power + power;
}

// Integers in the order of floats; its own inverse.
[[gnu::always_inline]] inline std::int32_t Ordered(std::int32_t bits) {
  constexpr std::int32_t kMagnitude = 0x7fffffff;
  return bits ^ ((bits >> 31) & kMagnitude);
}
constexpr auto kLeast = std::bit_cast<std::int32_t>(-std::numeric_limits<float>::infinity());

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
REPRISE_CLONES float Max(const float* x, std::int64_t n) {
  std::int32_t most = Ordered(kLeast);
  for (std::int64_t i = 0; i < n; ++i) {
    most = std::max(most, Ordered(BitsOf<std::int32_t>(x[i])));
  }
  return BitsOf<float>(Ordered(most));
}
REPRISE_CLONES void MaskOut(const float* let, float* row, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    row[i] = let[i] != 0 ? row[i] : -std::numeric_limits<float>::infinity();
  }
}

REPRISE_CLONES SoftmaxSums TakeStep(const SoftmaxStep& step, std::int64_t n,
                                    const ResultStream& stream) {
  constexpr std::int64_t kLine = ResultStream::kLineFloats;
  const SoftmaxStep s = step;
  std::array<std::int32_t, kLine> most;
  std::array<float, kLine> sums{};
  most.fill(Ordered(kLeast));
  const auto one = [&](std::int64_t i) {
    const float power = ExpOf(s.row[i] - s.top);
    if (s.powers != nullptr) {
      s.powers[i] = power;
    }
    if (s.y != nullptr) {
      s.y[i] = s.last[i] * s.scale + s.shift;
    }
    sums[0] += power;
    most[0] = std::max(most[0], Ordered(BitsOf<std::int32_t>(s.next[i])));
  };
  std::int64_t at = 0;
  for (; at < n && ResultStream::FloatsIntoLine(s.y + at) != 0; ++at) {
    one(at);
  }
  for (; at + kLine <= n; at += kLine) {
    alignas(64) std::array<float, kLine> y;
    alignas(64) std::array<float, kLine> powers;
#pragma GCC ivdep
    for (std::size_t k = 0; k < kLine; ++k) {
      const auto i = at + static_cast<std::int64_t>(k);
      most[k] = std::max(most[k], Ordered(BitsOf<std::int32_t>(s.next[i])));
      powers[k] = ExpOf(s.row[i] - s.top);
      sums[k] += powers[k];
      y[k] = s.last[i] * s.scale + s.shift;
    }
    if (s.powers != nullptr) {
      __builtin_memcpy(s.powers + at, powers.data(), sizeof(powers));
    }
    __builtin_prefetch(s.next + at + ResultStream::kAheadFloats);
    if (s.y != nullptr) {
      stream.StoreLine(s.y + at, y.data());
    }
  }
  for (; at < n; ++at) {
    one(at);
  }
  return {std::accumulate(sums.begin(), sums.end(), 0.0F),
          BitsOf<float>(Ordered(*std::max_element(most.begin(), most.end())))};
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
