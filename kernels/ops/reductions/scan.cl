// Inclusive sums and products of dense operands (outer, n, inner) along n. X: read, Y: written.
// A work-group takes one line; each of its work-items a contiguous part of it.
#include "rows.cl"

#define TIMES(a, b) ((a) * (b))

#define DEFINE_SCAN(NAME, NEUTRAL, OP)                                                              \
  __kernel void NAME(__global const TYPE(X)* x, long x0, __global TYPE(Y)* y, long y0, long outer, \
                     long n, long inner) {                                                        \
    PARTS(part);                                                                                  \
    FOR_ROWS(line, outer* inner) {                                                                \
      long at = line / inner * n * inner + line % inner;                                          \
      __global const TYPE(X)* xl = x + x0 + at;                                                   \
      __global TYPE(Y)* yl = y + y0 + at;                                                         \
      long size = (n + L - 1) / L;                                                                \
      long begin = min(n, (long)get_local_id(0) * size), end = min(n, begin + size);              \
      ACC total = NEUTRAL;                                                                          \
      BEFORE(part, total, OP, NEUTRAL, xl)                                                          \
      for (long i = begin; i < end; ++i) {                                                        \
        total = OP(total, GET(X, xl, i * inner));                                                \
        PUT(Y, yl, i * inner, total);                                                           \
      }                                                                                           \
    }                                                                                             \
  }

#if L > 1
#define PARTS(part) __local ACC part[L]
// total = what the work-items before this one hold together.
#define BEFORE(part, total, OP, NEUTRAL, xl)                                    \
  for (long i = begin; i < end; ++i) total = OP(total, GET(X, xl, i * inner)); \
  barrier(CLK_LOCAL_MEM_FENCE);                                               \
  part[get_local_id(0)] = total;                                              \
  barrier(CLK_LOCAL_MEM_FENCE);                                               \
  total = NEUTRAL;                                                              \
  for (uint k = 0; k < get_local_id(0); ++k) total = OP(total, part[k]);
#else
#define PARTS(part)
#define BEFORE(part, total, OP, NEUTRAL, xl)
#endif

DEFINE_SCAN(cumulative_sum, 0, PLUS)
DEFINE_SCAN(cumulative_product, 1, TIMES)
