#include "kernels/ops/random/random_draw.h"

#include <cmath>

namespace reprise {
namespace {

double UnitAboveZero(std::uint64_t bits) { return RandomUnit(bits) + 0x1p-24; }

double Normal(std::uint64_t bits) {
  return std::sqrt(-2 * std::log(UnitAboveZero(bits))) *
         std::cos(2 * M_PI * RandomUnit(bits << 24));
}

}  // namespace

double DrawReal(const RandomCall& call, std::uint64_t bits, double probability) {
  switch (call.kind) {
    case RandomKind::kNormal:
      return call.p + call.q * Normal(bits);
    case RandomKind::kBernoulli:
      // Compared in float, as on the device: a draw may equal the probability.
      return static_cast<float>(RandomUnit(bits)) < static_cast<float>(probability) ? 1 : 0;
    case RandomKind::kExponential:
      return -std::log(UnitAboveZero(bits)) / call.p;
    case RandomKind::kLogNormal:
      return std::exp(call.p + call.q * Normal(bits));
    case RandomKind::kCauchy:
      return call.p + call.q * std::tan(M_PI * (RandomUnit(bits) - 0.5));
    case RandomKind::kGeometric:
      return std::ceil(std::log(UnitAboveZero(bits)) / std::log1p(-call.p));
    default:
      return call.p + (call.q - call.p) * RandomUnit(bits);
  }
}

}  // namespace reprise
