// The numbers of random.cl on the host.
#pragma once

#include <cstdint>

#include "core/value.h"

namespace reprise {

// As in random.cl.
enum class RandomKind : std::int32_t {
  kIntegers,
  kUniform,
  kNormal,
  kBernoulli,
  kExponential,
  kLogNormal,
  kCauchy,
  kGeometric,
};

struct RandomCall {
  RandomKind kind = RandomKind::kUniform;
  const TensorDesc* out = nullptr;
  const TensorDesc* probabilities = nullptr;  // Bernoulli with one per element
  std::uint64_t seed = 0;
  std::int64_t from = 0;  // integers: [from, from + range)
  std::uint64_t range = 1;
  double p = 0;  // uniform: low; normal: mean; Bernoulli, geometric: probability; exponential: rate
  double q = 1;  // uniform: high; normal: standard deviation
};

// Different for every storage, the same in every run.
[[nodiscard]] inline std::uint64_t RandomSeed(const TensorDesc& tensor) {
  return static_cast<std::uint64_t>(tensor.incarnation + 1) * 0xd1342543de82ef95ULL;
}

constexpr std::uint64_t kRandomStep = 0x9e3779b97f4a7c15ULL;
// The finaliser of SplitMix64.
[[nodiscard]] constexpr std::uint64_t MixBits(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}
[[nodiscard]] constexpr std::uint64_t RandomBits(std::uint64_t seed, std::int64_t i) {
  return MixBits(seed + (static_cast<std::uint64_t>(i) + 1) * kRandomStep);
}
// For draws of no more than 32 bits, which are the upper ones here: elements 2j and 2j + 1 share
// RandomBits(seed, j), the even one takes its lower half.
[[nodiscard]] constexpr std::uint64_t RandomHalf(std::uint64_t seed, std::int64_t i) {
  return RandomBits(seed, i / 2) << (i % 2 == 0 ? 32 : 0);
}
[[nodiscard]] inline std::uint64_t BitsOfDraw(const RandomCall& call, std::int64_t i) {
  const bool all = call.kind == RandomKind::kIntegers || call.kind == RandomKind::kNormal ||
                   call.kind == RandomKind::kLogNormal;
  return all ? RandomBits(call.seed, i) : RandomHalf(call.seed, i);
}

[[nodiscard]] inline double RandomUnit(std::uint64_t bits) {
  return static_cast<double>(bits >> 40) * 0x1p-24;
}

// A floating draw (every kind but integers); `probability` is the element's own where it has one.
[[nodiscard]] double DrawReal(const RandomCall& call, std::uint64_t bits, double probability);

}  // namespace reprise
