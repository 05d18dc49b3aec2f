// Vectors for loops that compilers do not vectorise by themselves: sums, whose order they keep.
// They are as wide as the widest registers, and split where those are narrower.
#pragma once

#include <cstdint>

namespace reprise::loops {

// For lambdas that take or return vectors: a call from a copy for one processor into one for
// another would not agree on registers.
#define REPRISE_INLINE __attribute__((always_inline))

// 16 floats, and the integers of as many bits. ("using" would drop the attribute.)
typedef float Lanes __attribute__((vector_size(64)));                  // NOLINT
typedef std::int32_t SignedLanes __attribute__((vector_size(64)));     // NOLINT
typedef std::uint32_t UnsignedLanes __attribute__((vector_size(64)));  // NOLINT
constexpr std::int64_t kLanes = 16;

// Wherever they begin.
[[gnu::always_inline]] inline Lanes LoadLanes(const float* x) {
  Lanes lanes;
  __builtin_memcpy(&lanes, x, sizeof(lanes));
  return lanes;
}
[[gnu::always_inline]] inline void StoreLanes(float* to, const Lanes& lanes) {
  __builtin_memcpy(to, &lanes, sizeof(lanes));
}
[[gnu::always_inline]] inline float SumOfLanes(const Lanes& lanes) {
  float part[kLanes];
  StoreLanes(part, lanes);
  for (std::int64_t half = kLanes / 2; half > 0; half /= 2) {
    for (std::int64_t k = 0; k < half; ++k) {
      part[k] += part[k + half];
    }
  }
  return part[0];
}

}  // namespace reprise::loops
