#include "kernels/ops/random/random_loops.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/ops/common/float_math.h"
#include "kernels/ops/common/host_clones.h"
#include "kernels/ops/random/random_draw.h"

namespace reprise::loops {
namespace {

// 24 bits as a multiple of 2^-24, in [0, 1): RandomUnit's, exact in float.
[[gnu::always_inline]] inline float Unit(std::uint64_t bits) {
  return static_cast<float>(static_cast<std::int32_t>(bits >> 40U)) * 0x1p-24F;
}
[[gnu::always_inline]] inline float UnitAboveZero(std::uint64_t bits) {
  return static_cast<float>(static_cast<std::int32_t>(bits >> 40U) + 1) * 0x1p-24F;
}

// Cephes' logf for normal positive numbers: x = 2^e m, √½ <= m < √2, a polynomial for log(m).
[[gnu::always_inline]] inline float Log(float x) {
  constexpr std::int32_t kRootOfHalf = 0x3f3504f3;
  const auto bits = BitCast<std::int32_t>(x);
  const std::int32_t exponent = (bits - kRootOfHalf) >> 23;
  const auto m = BitCast<float>(bits - exponent * (1 << 23));
  const auto e = static_cast<float>(exponent);
  const float r = m - 1;
  float p = 7.0376836292e-2F;
  p = p * r - 1.1514610310e-1F;
  p = p * r + 1.1676998740e-1F;
  p = p * r - 1.2420140846e-1F;
  p = p * r + 1.4249322787e-1F;
  p = p * r - 1.6668057665e-1F;
  p = p * r + 2.0000714765e-1F;
  p = p * r - 2.4999993993e-1F;
  p = p * r + 3.3333331174e-1F;
  const float square = r * r;
  const float tail = p * r * square - e * 2.12194440e-4F - 0.5F * square;
  return r + tail + e * 0.693359375F;
}

// cos(2πu) for u in [0, 1) as 1 - 2 sin²(πu), by the sine's series for |πu| <= π/2.
[[gnu::always_inline]] inline float CosTurn(float u) {
  const float x = 3.14159265F * (u > 0.5F ? u - 1 : u);
  const float z = x * x;
  float p = -1 / 39916800.0F;
  p = p * z + 1 / 362880.0F;
  p = p * z - 1 / 5040.0F;
  p = p * z + 1 / 120.0F;
  p = p * z - 1 / 6.0F;
  const float sine = x + x * z * p;
  return 1 - 2 * sine * sine;
}

// 24 bits of a half as a multiple of 2^-24: of RandomHalf, what RandomUnit makes of it.
[[gnu::always_inline]] inline float UnitOfHalf(std::uint32_t half) {
  return static_cast<float>(static_cast<std::int32_t>(half >> 8U)) * 0x1p-24F;
}

// body(i, half) for each of n elements: the upper half of RandomHalf(seed, first + i). Two loops
// for each block, because the first one's vectors are of half as many elements.
template <typename Body>
[[gnu::always_inline]] inline void ForHalves(std::uint64_t seed, std::int64_t first, std::int64_t n,
                                             const Body& body) {
  constexpr std::int64_t kPairs = 64;
  for (std::int64_t at = 0; at < n;) {
    const std::int64_t pair = (first + at) / 2;
    const std::int64_t skip = (first + at) % 2;
    std::uint64_t x = seed + (static_cast<std::uint64_t>(pair) + 1) * kRandomStep;
    std::array<std::uint64_t, kPairs> bits;
    for (std::int64_t k = 0; k < kPairs; ++k) {
      bits[static_cast<std::size_t>(k)] = MixBits(x);
      x += kRandomStep;
    }
    std::array<std::uint32_t, 2 * kPairs> halves;  // in memory the lower one comes first
    static_assert(std::endian::native == std::endian::little && sizeof(halves) == sizeof(bits));
    std::memcpy(halves.data(), bits.data(), sizeof(bits));
    const std::int64_t count = std::min(n - at, 2 * kPairs - skip);
    for (std::int64_t k = 0; k < count; ++k) {
      body(at + k, halves[static_cast<std::size_t>(skip + k)]);
    }
    at += count;
  }
}

// The upper 64 bits of a product, by products of halves, which vectorise.
[[gnu::always_inline]] inline std::uint64_t UpperHalf(std::uint64_t a, std::uint64_t b) {
  constexpr std::uint64_t kLower = 0xffffffff;
  const std::uint64_t low = (a & kLower) * (b & kLower);
  const std::uint64_t cross = (a >> 32U) * (b & kLower) + (low >> 32U);
  const std::uint64_t other = (a & kLower) * (b >> 32U) + (cross & kLower);
  return (a >> 32U) * (b >> 32U) + (cross >> 32U) + (other >> 32U);
}

}  // namespace

REPRISE_CLONES void DrawUniform(std::uint64_t seed, std::int64_t first, float low, float span,
                                float* y, std::int64_t n) {
  ForHalves(seed, first, n,
            [=](std::int64_t i, std::uint32_t half) { y[i] = low + span * UnitOfHalf(half); });
}
REPRISE_CLONES void DrawNormal(std::uint64_t seed, std::int64_t first, float mean, float deviation,
                               float* y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    const std::uint64_t bits = RandomBits(seed, first + i);
    const float radius = std::sqrt(-2 * Log(UnitAboveZero(bits)));
    y[i] = mean + deviation * (radius * CosTurn(Unit(bits << 24U)));
  }
}
REPRISE_CLONES void DrawExponential(std::uint64_t seed, std::int64_t first, float rate, float* y,
                                    std::int64_t n) {
  ForHalves(seed, first, n, [=](std::int64_t i, std::uint32_t half) {
    y[i] = -Log(UnitOfHalf(half) + 0x1p-24F) / rate;
  });
}
REPRISE_CLONES void DrawBernoulli(std::uint64_t seed, std::int64_t first, float p, float* y,
                                  std::int64_t n) {
  ForHalves(seed, first, n,
            [=](std::int64_t i, std::uint32_t half) { y[i] = UnitOfHalf(half) < p ? 1.0F : 0.0F; });
}

// Remainders by the upper half of a product with 2^64 / range, which is at most one too small.
REPRISE_CLONES void DrawIntegers(std::uint64_t seed, std::int64_t first, std::int64_t from,
                                 std::uint64_t range, std::int64_t* y, std::int64_t n) {
  const std::uint64_t inverse = std::numeric_limits<std::uint64_t>::max() / range;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::uint64_t bits = RandomBits(seed, first + i);
    const std::uint64_t rest = bits - UpperHalf(bits, inverse) * range;
    y[i] = from + static_cast<std::int64_t>(rest >= range ? rest - range : rest);
  }
}

REPRISE_CLONES void Dropout(const float* x, std::uint64_t seed, std::int64_t first, float p,
                            float scale, float* y, std::uint8_t* kept, std::int64_t n) {
  ForHalves(seed, first, n, [=](std::int64_t i, std::uint32_t half) {
    const bool keep = UnitOfHalf(half) >= p;
    kept[i] = keep ? 1 : 0;
    y[i] = keep ? x[i] * scale : 0;
  });
}

}  // namespace reprise::loops
