// Padding with what is inside: mirrored at the edge pixel, or the edge pixel again. X: element type.
// Operands are dense: in (P, n0, n1, n2), out (P, m0, m1, m2), with b0, b1, b2 elements before.
#include "rows.cl"

static long input_of(long o, long n, long before, int reflect) {
  const long i = o - before, mirrored = abs(i);
  return clamp(!reflect ? i : mirrored >= n ? 2 * (n - 1) - mirrored : mirrored, 0L, n - 1);
}

__kernel void pad(__global const TYPE(X) * in, long in0, __global TYPE(X) * out, long out0,
                  long planes, long n0, long n1, long n2, long m0, long m1, long m2, long b0,
                  long b1, long b2, int reflect) {
  for (long row = FIRST(planes * m0 * m1); row < LAST(planes * m0 * m1); row += STEP) {
    const long z = input_of(row / m1 % m0, n0, b0, reflect);
    const long y = input_of(row % m1, n1, b1, reflect);
    const long from = in0 + ((row / m1 / m0 * n0 + z) * n1 + y) * n2;
    for (long x = 0; x < m2; ++x)
      out[out0 + row * m2 + x] = in[from + input_of(x, n2, b2, reflect)];
  }
}

// How many output elements along one dimension may be copies of input element i, and the k-th of
// them; -1: none after all.
static long copies_of(long i, long n, long m, long before, int reflect) {
  if (reflect) return 3;
  return (i == n - 1 ? m : i + before + 1) - (i == 0 ? 0 : i + before);
}
static long copy_of(long i, long n, long m, long before, int reflect, long k) {
  if (!reflect) return (i == 0 ? 0 : i + before) + k;
  if (k == 0) return i + before;
  if (k == 1) return i > 0 ? before - i : -1;
  const long beyond = 2 * (n - 1) - i + before;
  return i < n - 1 && beyond < m ? beyond : -1;
}

// Each input element asks its copies.
__kernel void pad_grad(__global TYPE(X) * in, long in0, __global const TYPE(X) * out, long out0,
                       long planes, long n0, long n1, long n2, long m0, long m1, long m2, long b0,
                       long b1, long b2, int reflect) {
  const long count = planes * n0 * n1 * n2;
  for (long i = FIRST(count); i < LAST(count); i += STEP) {
    const long x = i % n2, y = i / n2 % n1, z = i / n2 / n1 % n0, plane = i / n2 / n1 / n0;
    ACC sum = 0;
    for (long kz = 0; kz < copies_of(z, n0, m0, b0, reflect); ++kz) {
      const long oz = copy_of(z, n0, m0, b0, reflect, kz);
      for (long ky = 0; oz >= 0 && ky < copies_of(y, n1, m1, b1, reflect); ++ky) {
        const long oy = copy_of(y, n1, m1, b1, reflect, ky);
        const long row = ((plane * m0 + oz) * m1 + oy) * m2;
        for (long kx = 0; oy >= 0 && kx < copies_of(x, n2, m2, b2, reflect); ++kx) {
          const long ox = copy_of(x, n2, m2, b2, reflect, kx);
          if (ox >= 0) sum += GET(X, out, out0 + row + ox);
        }
      }
    }
    PUT(X, in, in0 + i, sum);
  }
}
