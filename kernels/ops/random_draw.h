// The numbers of random.cl on the host.
#pragma once

#include <cmath>
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

[[nodiscard]] inline std::uint64_t RandomBits(std::uint64_t seed, std::int64_t i) {
  std::uint64_t x = seed + (static_cast<std::uint64_t>(i) + 1) * 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

[[nodiscard]] inline double RandomUnit(std::uint64_t bits) {
  return static_cast<double>(bits >> 40) * 0x1p-24;
}

// A floating draw (every kind but integers); `probability` is the element's own where it has one.
[[nodiscard]] double DrawReal(const RandomCall& call, std::uint64_t bits, double probability);

}  // namespace reprise
