// Functions of float that compilers vectorise, for the loops of the host backend: no branches,
// calls or tables, inlined into each copy of a loop (host_clones.h). double goes to libm. NaN stays
// NaN. The errors are those that tests/kernels/float_math_test.cc allows.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>

namespace reprise::loops {

// std::bit_cast, which GCC 12 does not vectorise.
template <typename To, typename From>
[[gnu::always_inline]] inline To BitCast(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to{};
  __builtin_memcpy(&to, &from, sizeof(to));
  return to;
}

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
// |x|, at most `end`; the order of the comparison keeps NaN.
[[gnu::always_inline]] inline float UpTo(float end, float x) {
  const float a = std::fabs(x);
  return end < a ? end : a;
}
// What decays from 1/2 at 0 to 0 at `end`: its distance d to it times the polynomial c in
// u = 1 - 2 d / end.
template <std::size_t kTerms>
[[gnu::always_inline]] inline float Tail(float a, float end, const std::array<float, kTerms>& c) {
  const float d = end - a;
  return d * Polynomial(1 - d * (2 / end), c);
}
// x Φ(x) = max(x, 0) - |x| Φ(-|x|), absolute error under 1e-6, for |x| < 1 relative error under
// 5e-6; -∞ gives 0, where PyTorch multiplies it by 0. The polynomial is the one of degree 13 with
// the least error of |x| Φ(-|x|), 5.5e-7.
[[gnu::always_inline]] inline float Gelu(float x) {
  constexpr float kEnd = 5.2F;
  const float a = UpTo(kEnd, x);
  const float tail =
      Tail(a, kEnd,
           std::array{1.792834373e-03F, -1.179082971e-02F, 3.411180526e-02F, -5.400326848e-02F,
                      4.337873310e-02F, 8.548900951e-04F, -4.025699198e-02F, 3.489541635e-02F,
                      5.230399314e-03F, -2.532330342e-02F, 6.133668125e-03F, 8.682549931e-03F,
                      -2.313831588e-03F, -1.392577076e-03F});
  return (0 < x ? x : 0) - a * tail;
}
// Its derivative Φ(x) + x φ(x), absolute error under 1e-6: of -|x| by a polynomial of degree 15
// with the least error, 4.4e-7.
[[gnu::always_inline]] inline float GeluSlope(float x) {
  constexpr float kEnd = 5.6F;
  const float tail =
      Tail(UpTo(kEnd, x), kEnd,
           std::array{-7.003050297e-03F, 3.922219574e-02F, -7.990514487e-02F, 2.962888032e-02F,
                      1.663871109e-01F, -3.196687996e-01F, 1.562205553e-01F, 2.412797958e-01F,
                      -3.966307044e-01F, 6.133384258e-02F, 2.966205180e-01F, -1.710167080e-01F,
                      -1.079312786e-01F, 9.255273640e-02F, 1.688835584e-02F, -1.797135919e-02F});
  return x < 0 ? tail : 1 - tail;
}

// libm's power takes ten times as long as the two products that GELU's cube is. PyTorch computes
// these exponents as products, too (aten/src/ATen/native/cpu/PowKernel.cpp).
template <typename T>
[[gnu::always_inline]] inline T Pow(T x, T exponent) {
  return exponent == 2 ? x * x : exponent == 3 ? x * x * x : std::pow(x, exponent);
}

inline double Erf(double x) { return std::erf(x); }
inline double Gelu(double x) { return 0.5 * x * (1 + std::erf(x * M_SQRT1_2)); }
inline double GeluSlope(double x) {
  return 0.5 * (1 + std::erf(x * M_SQRT1_2)) +
         x * (0.5 * M_2_SQRTPI * M_SQRT1_2) * std::exp(-0.5 * x * x);
}

}  // namespace reprise::loops
