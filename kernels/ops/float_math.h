// Functions of float that compilers vectorise, for the loops of the host backend: no branches,
// calls or tables, inlined into each copy of a loop (host_clones.h). double goes to libm. NaN stays
// NaN. The errors are those that tests/kernels/float_math_test.cc allows.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>

namespace reprise::loops {

// c[0] + c[1] x + c[2] x² …, of the last terms the even and the odd ones each for themselves: what
// is added last waits for fewer before it, so that a core has more under way. The first terms one
// by one, because their even and odd sums are large against what is left of both.
template <std::size_t kTerms>
[[gnu::always_inline]] inline float Polynomial(float x, const std::array<float, kTerms>& c) {
  constexpr std::size_t kSplit = 4;
  static_assert(kTerms % 2 == 0 && kTerms > kSplit);
  const float square = x * x;
  float even = c[kTerms - 2];
  float odd = c[kTerms - 1];
  for (std::size_t i = kTerms - 2; i > kSplit; i -= 2) {
    even = even * square + c[i - 2];
    odd = odd * square + c[i - 1];
  }
  float sum = odd * x + even;
  for (std::size_t i = kSplit; i-- > 0;) {
    sum = sum * x + c[i];
  }
  return sum;
}

// The odd part of a function that rises from 0 to 1, ±1/2 from `end` on, else x times the
// polynomial c in u = 2 x² / end² - 1. (In powers of x² itself, terms would cancel each other.)
template <std::size_t kTerms>
[[gnu::always_inline]] inline float OddPart(float x, float end,
                                            const std::array<float, kTerms>& c) {
  const float y = x * Polynomial(x * x * (2 / (end * end)) - 1, c);
  return std::fabs(x) > end ? std::copysign(0.5F, x) : y;
}

// Φ(x) - 1/2, relative error under 4e-7. The polynomial is the one of degree 15 with the least
// relative error, 2.6e-8 (found by Remez' exchange).
[[gnu::always_inline]] inline float CdfOddPart(float x) {
  return OddPart(
      x, 5.5507882F,
      std::array{1.273774834e-01F, -6.359868074e-02F, 4.735252856e-02F, -3.856909253e-02F,
                 3.202363142e-02F, -2.618866946e-02F, 2.068857197e-02F, -1.541126700e-02F,
                 1.054872554e-02F, -7.118739374e-03F, 5.080967303e-03F, -2.742422745e-03F,
                 6.794626049e-04F, -4.980222385e-04F, 7.584102289e-04F, -3.055949018e-04F});
}
[[gnu::always_inline]] inline float Erf(float x) {
  return 2 * CdfOddPart(x * static_cast<float>(M_SQRT2));
}
// x Φ(x), absolute error under 1e-6.
[[gnu::always_inline]] inline float Gelu(float x) { return x * (0.5F + CdfOddPart(x)); }
// Its derivative Φ(x) + x φ(x), absolute error under 5e-7. The polynomial is of degree 17 and has
// the least absolute error, 8e-8.
[[gnu::always_inline]] inline float GeluSlope(float x) {
  return 0.5F +
         OddPart(x, 6.05F,
                 std::array{1.169173164e-1F, -5.880372731e-2F, 4.548536662e-2F, -4.154626278e-2F,
                            4.339738483e-2F, -4.92024712e-2F, 5.613405016e-2F, -6.377607218e-2F,
                            7.089261684e-2F, -6.320760612e-2F, 4.149613303e-2F, -4.329390818e-2F,
                            5.778349881e-2F, -2.883625653e-2F, -7.978628847e-3F, -2.02457764e-3F,
                            1.613664031e-2F, -6.92887679e-3F});
}

inline double Erf(double x) { return std::erf(x); }
inline double Gelu(double x) { return 0.5 * x * (1 + std::erf(x * M_SQRT1_2)); }
inline double GeluSlope(double x) {
  return 0.5 * (1 + std::erf(x * M_SQRT1_2)) +
         x * (0.5 * M_2_SQRTPI * M_SQRT1_2) * std::exp(-0.5 * x * x);
}

}  // namespace reprise::loops
