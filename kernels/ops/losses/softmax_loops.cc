#include "kernels/ops/losses/softmax_loops.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "kernels/ops/common/host_clones.h"
#include "kernels/ops/common/host_loops.h"
#include "kernels/ops/common/write_lines.h"

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

// The integers of as many bits.
template <typename T>
struct Integers {
  using Int = typename Register<sizeof(T)>::Signed;
  using Bits = typename Register<sizeof(T)>::Unsigned;
};
template <>
struct Integers<float> {
  using Int = std::int32_t;
  using Bits = std::uint32_t;
};

// exp(x) for one float or for a register of them, up to exp(88.3): 2^k exp(r), |r| <= ln 2 / 2.
// What would not be normal is 0: what a mask leaves out must be nothing, and not a denormal once it
// is divided by the sum. The polynomial is the one of degree 5, 1 at 0, with the least relative
// error there, 9.2e-8 (found by Remez' exchange). Inlined into each copy of its callers.
template <typename T>
[[gnu::always_inline]] inline T ExpOf(T x) {
  using Of = Integers<T>;
  // By integers, since compilers keep the order of comparisons where NaN may be: negative floats
  // grow in magnitude as unsigned numbers do.
  constexpr auto kLowest = std::bit_cast<std::uint32_t>(-87.33654F);  // exp of less is not normal
  const auto bits = BitsOf<typename Of::Bits>(x);
  const T bounded = BitsOf<T>(bits < kLowest ? bits : kLowest + typename Of::Bits{});
  // A sum this large has no room for a fraction, and ends in the bits of k + 127.
  constexpr float kWhole = 12582912.0F + 127;
  constexpr float kLog2E = 1.44269504F;
  const T whole = bounded * kLog2E + kWhole;
  const T k = whole - kWhole;
  const T r = (bounded - k * 0.693359375F) + k * 2.12194440e-4F;  // ln 2 in two parts
  T p = 8.290306194e-3F * r + 4.189797535e-2F;
  p = p * r + 1.666763658e-1F;
  p = p * r + 4.999914919e-1F;
  p = p * r + 9.999997070e-1F;
  const T power = BitsOf<T>(BitsOf<typename Of::Int>(whole) << 23);
  const T y = p * r * power + power;
  return BitsOf<T>(bits < kLowest ? BitsOf<typename Of::Bits>(y) : typename Of::Bits{});
}
// Of more than 88.3: exp(88.3).
template <typename T>
[[gnu::always_inline]] inline T ExpOfAny(T x) {
  using Of = Integers<T>;
  constexpr auto kHighest = std::bit_cast<std::int32_t>(88.3F);
  const auto bits = BitsOf<typename Of::Int>(x);  // positive floats grow as signed numbers do
  return ExpOf(BitsOf<T>(bits < kHighest ? bits : kHighest + typename Of::Int{}));
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
    y[i] = ExpOfAny(x[i] - top);
  }
}
double ExpSum(const float* x, float top, float* y, std::int64_t n) {
  Exp(x, top, y, n);
  return Sum(y, n);
}
REPRISE_CLONES float Max(const float* x, std::int64_t n) {
  std::int32_t most = Ordered(kMin);
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

namespace {

// All but whole lines of a step's result, one by one.
[[gnu::always_inline]] inline void StepByOne(const SoftmaxStep& s, std::int64_t begin,
                                             std::int64_t end, SoftmaxSums& sums) {
  for (std::int64_t i = begin; i < end; ++i) {
    const float power = ExpOf(s.row[i] - s.top);
    if (s.powers != nullptr) {
      s.powers[i] = power;
    }
    if (s.y != nullptr) {
      s.y[i] = s.last[i] * s.scale + s.shift;
    }
    sums.powers += power;
    sums.most = std::max(sums.most, s.next[i]);
  }
}

template <Processor kOn>
[[gnu::always_inline]] inline SoftmaxSums TakeStepOn(const SoftmaxStep& step, std::int64_t n,
                                                     const NonTemporalStore& store) {
  constexpr std::int64_t kLine = NonTemporalStore::kLineFloats;
  const SoftmaxStep s = step;
  SoftmaxSums result{0, -std::numeric_limits<float>::infinity()};
  const std::int64_t head = NonTemporalStore::FloatsToLine(s.y, n);
  StepByOne(s, 0, head, result);
  Lanes<kOn> sums{};
  Lanes<kOn> most = Lanes<kOn>{} + result.most;
  std::int64_t at = head;
  for (; at + kLine <= n; at += kLine) {
    for (std::int64_t i = at; i < at + kLine; i += kLanes<kOn>) {
      const Lanes<kOn> next = LoadLanes<kOn>(s.next + i);
      most = next > most ? next : most;
      const Lanes<kOn> powers = ExpOf(LoadLanes<kOn>(s.row + i) - s.top);
      sums += powers;
      if (s.powers != nullptr) {
        StoreLanes(s.powers + i, powers);
      }
    }
    __builtin_prefetch(s.next + at + NonTemporalStore::kAheadFloats);
    if (s.y != nullptr) {
      WriteLine<kOn>(store, s.y + at, [=](std::int64_t k) REPRISE_INLINE {
        return LoadLanes<kOn>(s.last + at + k) * s.scale + s.shift;
      });
    }
  }
  StepByOne(s, at, n, result);
  result.powers += SumOfLanes(sums);
  for (std::int64_t k = 0; k < kLanes<kOn>; ++k) {
    result.most = std::max(result.most, most[k]);
  }
  return result;
}
REPRISE_BY_PROCESSOR(SoftmaxSums, TakeStep,
                     (const SoftmaxStep& step, std::int64_t n, const NonTemporalStore& store),
                     (step, n, store));

}  // namespace

SoftmaxSums TakeStep(const SoftmaxStep& step, std::int64_t n, const NonTemporalStore& store) {
  return TakeStepHere(step, n, store);
}

REPRISE_CLONES void SoftmaxGradient(const float* g, const float* y, float sum, float* dx,
                                    std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    dx[i] = y[i] * (g[i] - sum);
  }
}

namespace {

template <Processor kOn>
[[gnu::always_inline]] inline void GradientOn(const float* g, const float* y, float sum, float* dx,
                                              std::int64_t n, std::int64_t ahead,
                                              const NonTemporalStore& store) {
  WriteLines<kOn>(store, dx, n, std::array{g, y}, ahead,
                  [=](auto load, std::int64_t i)
                      REPRISE_INLINE { return load(y, i) * (load(g, i) - sum); });
}
REPRISE_BY_PROCESSOR(void, Gradient,
                     (const float* g, const float* y, float sum, float* dx, std::int64_t n,
                      std::int64_t ahead, const NonTemporalStore& store),
                     (g, y, sum, dx, n, ahead, store));

template <Processor kOn>
[[gnu::always_inline]] inline void LogGradientOn(const float* g, const float* y, float sum,
                                                 float* dx, std::int64_t n, std::int64_t ahead,
                                                 const NonTemporalStore& store) {
  WriteLines<kOn>(store, dx, n, std::array{g, y}, ahead,
                  [=](auto load, std::int64_t i)
                      REPRISE_INLINE { return load(g, i) - ExpOfAny(load(y, i)) * sum; });
}
REPRISE_BY_PROCESSOR(void, LogGradient,
                     (const float* g, const float* y, float sum, float* dx, std::int64_t n,
                      std::int64_t ahead, const NonTemporalStore& store),
                     (g, y, sum, dx, n, ahead, store));

}  // namespace

void WriteSoftmaxGradient(const float* g, const float* y, float sum, float* dx, std::int64_t n,
                          std::int64_t ahead, const NonTemporalStore& store) {
  GradientHere(g, y, sum, dx, n, ahead, store);
}
void WriteLogSoftmaxGradient(const float* g, const float* y, float sum, float* dx, std::int64_t n,
                             std::int64_t ahead, const NonTemporalStore& store) {
  LogGradientHere(g, y, sum, dx, n, ahead, store);
}

}  // namespace reprise::loops
