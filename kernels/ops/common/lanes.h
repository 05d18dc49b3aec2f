// Vectors for loops that compilers do not vectorise by themselves: sums, whose order they keep.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/processor.h"

namespace reprise::loops {

// For lambdas that take or return vectors: a call from a copy for one processor into one for
// another would not agree on registers.
#define REPRISE_INLINE __attribute__((always_inline))

// ("using" would drop the attribute.)
template <std::size_t kBytes>
struct Register {
  typedef float Floats __attribute__((vector_size(kBytes)));            // NOLINT
  typedef std::int32_t Signed __attribute__((vector_size(kBytes)));     // NOLINT
  typedef std::uint32_t Unsigned __attribute__((vector_size(kBytes)));  // NOLINT
};

// As many floats as a register of the processor holds (processor.h): GCC 12 takes wider vectors
// apart in memory, float by float.
template <Processor kOn>
constexpr std::int64_t kLanes = kOn == Processor::kV4   ? 16
                                : kOn == Processor::kV3 ? 8
                                                        : 4;
template <Processor kOn>
using Lanes = typename Register<kLanes<kOn> * sizeof(float)>::Floats;

// Wherever they begin.
template <Processor kOn>
[[gnu::always_inline]] inline Lanes<kOn> LoadLanes(const float* x) {
  Lanes<kOn> lanes;
  __builtin_memcpy(&lanes, x, sizeof(lanes));
  return lanes;
}
template <typename Floats>
[[gnu::always_inline]] inline void StoreLanes(float* to, const Floats& lanes) {
  __builtin_memcpy(to, &lanes, sizeof(lanes));
}
template <typename Floats>
[[gnu::always_inline]] inline float SumOfLanes(const Floats& lanes) {
  constexpr std::size_t kCount = sizeof(lanes) / sizeof(float);
  float part[kCount];
  StoreLanes(part, lanes);
  for (std::size_t half = kCount / 2; half > 0; half /= 2) {
    for (std::size_t k = 0; k < half; ++k) {
      part[k] += part[k + half];
    }
  }
  return part[0];
}

}  // namespace reprise::loops
