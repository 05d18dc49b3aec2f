// Random numbers from a counter: element i of a call is a hash of (seed, i), so that the device and
// the reference draw the same. Option: -DT=.

#include "random_bits.cl"

// As in random.cc.
enum { INTEGERS, UNIFORM, NORMAL, BERNOULLI, EXPONENTIAL, LOG_NORMAL, CAUCHY, GEOMETRIC };

// cos(2πu) = 1 - 2 sin²(πu), for u in [0, 1), by the sine's series for |πu| ≤ π/2: vectorises
// where cos() does not.
static inline float cos_turn(float u) {
  float x = 3.14159265f * (u > 0.5f ? u - 1 : u);
  float z = x * x;
  float sine = x * (1 + z * (-1 / 6.0f + z * (1 / 120.0f + z * (-1 / 5040.0f +
                    z * (1 / 362880.0f - z * (1 / 39916800.0f))))));
  return 1 - 2 * sine * sine;
}

static inline float normal(ulong bits) {
  return sqrt(-2 * log_of_normal(unit_above_zero(bits))) * cos_turn(unit(bits << 24));
}

// A loop for each distribution, and one more for dense results: compilers vectorise neither a switch
// nor strides that they do not know.
#define DRAW(draw_bits, expression)                                             \
  if (dense) {                                                                  \
    for (long i = FIRST(space.count); i < LAST(space.count); i += STEP) {       \
      const ulong bits = draw_bits(seed, i);                                    \
      STORE(T)(out, space.offset[0] + i, (ARITH(T))(expression));               \
    }                                                                           \
  } else {                                                                      \
    for (long i = FIRST(space.count); i < LAST(space.count); i += STEP) {       \
      const ulong bits = draw_bits(seed, i);                                    \
      STORE(T)(out, offset_of(&space, 0, i), (ARITH(T))(expression));           \
    }                                                                           \
  }                                                                             \
  break

__kernel void generate(__global MEM(T)* out, const IndexSpace space, int kind, ulong seed, long from,
                       ulong range, float p, float q) {
  const bool dense = space.dims == 1 && space.strides[0][0] == 1;
  switch (kind) {
    case INTEGERS:
      DRAW(random_bits, from + (long)(bits % range));
    case UNIFORM:
      DRAW(random_half, p + (q - p) * unit(bits));
    case NORMAL:
      DRAW(random_bits, p + q * normal(bits));
    case BERNOULLI:
      DRAW(random_half, unit(bits) < p);
    case EXPONENTIAL:
      DRAW(random_half, -log_of_normal(unit_above_zero(bits)) / p);
    case LOG_NORMAL:
      DRAW(random_bits, exp(p + q * normal(bits)));
    case CAUCHY:
      DRAW(random_half, p + q * tan(3.14159265f * (unit(bits) - 0.5f)));
    case GEOMETRIC:
      DRAW(random_half, ceil(log_of_normal(unit_above_zero(bits)) / log1p(-p)));
  }
}

// Each element has its own probability.
__kernel void bernoulli_of(__global MEM(T)* out, __global const MEM(P)* p, const IndexSpace space,
                           ulong seed) {
  for (long i = FIRST(space.count); i < LAST(space.count); i += STEP) {
    bool one = unit(random_half(seed, i)) < (float)LOAD(P)(p, offset_of(&space, 1, i));
    STORE(T)(out, offset_of(&space, 0, i), (ARITH(T))one);
  }
}

__kernel void dropout(__global MEM(T)* out, long out_offset, __global uchar* mask, long mask_offset,
                      __global const MEM(T)* in, long in_offset, long count, float p, ulong seed) {
  float scale = p < 1 ? 1 / (1 - p) : 0;
  for (long i = FIRST(count); i < LAST(count); i += STEP) {
    bool keep = unit(random_half(seed, i)) >= p;
    mask[mask_offset + i] = keep;
    STORE(T)(out, out_offset + i, keep ? (ARITH(T))(LOAD(T)(in, in_offset + i) * scale) : 0);
  }
}
