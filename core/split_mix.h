// SplitMix64 (Steele, Lea, Flood 2014): a well-mixed function of a counter, the same everywhere.
#pragma once

#include <cstdint>

namespace reprise {

// How far apart the counters of its sequence are.
inline constexpr std::uint64_t kSplitMixStep = 0x9e3779b97f4a7c15U;

[[nodiscard]] constexpr std::uint64_t SplitMix(std::uint64_t counter) {
  std::uint64_t z = counter + kSplitMixStep;
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31U);
}

}  // namespace reprise
