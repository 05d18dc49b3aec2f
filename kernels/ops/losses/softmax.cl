// Softmax over rows of n dense elements. X: what is read, Y: what is written; LOGARITHM: log-softmax.
#include "rows.cl"

#define LOGARITHM 1
#define SAFE 2  // rows that are -inf throughout become 0, not NaN

// fmax ignores NaN; PyTorch's result for a row with a NaN is NaN in any case, through the sum.
#define LARGER(a, b) fmax(a, b)
#if L > 1
DEFINE_GROUP_FOLD(group_max, LARGER)
#else
#define group_max(v, tmp) (v)
#endif

// Exponentials that a CPU's core keeps between their sum and the result.
#if L == 1
#define KEPT 4096
#define KEEP(v, i) CAT(vstore, V)(v, 0, kept + (i))
#define KEEP_ONE(v, i) (kept[i] = (v))
#define KEPT_POWER(i) CAT(vload, V)(0, kept + (i))
#else
#define KEPT 0
#define KEEP(v, i)
#define KEEP_ONE(v, i)
#define KEPT_POWER(i) 0
#endif

__kernel void softmax(__global const TYPE(X)* x, long x0, __global TYPE(Y)* y, long y0, long rows,
                      long n, int flags) {
  GROUP_LOCAL(tmp);
#if L == 1
  ACC kept[KEPT];
#endif
  const bool keeps = n <= KEPT && !(flags & LOGARITHM);
  FOR_ROWS(row, rows) {
    __global const TYPE(X)* xr = x + x0 + row * n;
    __global TYPE(Y)* yr = y + y0 + row * n;
    VACC wide = -INFINITY;
    ACC tail = -INFINITY;
    FOR_VECTORS(i, n) {
      VACC v = VGET(X, xr, i);
      wide = v > wide ? v : wide;  // fmax, in one instruction
    }
    FOR_TAIL(i, n) tail = fmax(tail, GET(X, xr, i));
    ACC top = group_max(LARGER(FOLD(LARGER, wide), tail), tmp);
    wide = 0;
    tail = 0;
    FOR_VECTORS(i, n) {
      VACC power = exp_v(VGET(X, xr, i) - top);
      wide += power;
      if (keeps) KEEP(power, i);
    }
    FOR_TAIL(i, n) {
      ACC power = exp(GET(X, xr, i) - top);
      tail += power;
      if (keeps) KEEP_ONE(power, i);
    }
    ACC sum = group_sum(FOLD(PLUS, wide) + tail, tmp);
    const long h = ALIGNED_FROM(yr, n);
    if (flags & LOGARITHM) {
      ACC shift = top + log(sum);
      FOR_VECTORS_FROM(h, i, n) {
        FETCH(xr, max(n, (long)AHEAD) + i);
        VSTREAM(Y, yr, i, VGET(X, xr, i) - shift, flags);
      }
      FOR_ENDS(h, i, n) PUT(Y, yr, i, GET(X, xr, i) - shift);
    } else if ((flags & SAFE) && top == -INFINITY) {
      FOR_VECTORS_FROM(h, i, n) VPUT(Y, yr, i, (VACC)(0));
      FOR_ENDS(h, i, n) PUT(Y, yr, i, (ACC)0);
    } else {
      ACC scale = 1 / sum;
      FOR_VECTORS_FROM(h, i, n) {
        FETCH(xr, max(n, (long)AHEAD) + i);
        VACC power = keeps ? KEPT_POWER(i) : exp_v(VGET(X, xr, i) - top);
        VSTREAM(Y, yr, i, power * scale, flags);
      }
      FOR_ENDS(h, i, n) PUT(Y, yr, i, exp(GET(X, xr, i) - top) * scale);
    }
  }
  END_STREAM();
}

// y is the forward result. softmax: dx = y * (g - sum(g*y)); log-softmax: dx = g - exp(y) * sum(g).
__kernel void softmax_backward(__global const TYPE(X)* g, long g0, __global const TYPE(X)* y,
                               long y0, __global TYPE(Y)* dx, long dx0, long rows, long n,
                               int flags) {
  GROUP_LOCAL(tmp);
  FOR_ROWS(row, rows) {
    __global const TYPE(X)* gr = g + g0 + row * n;
    __global const TYPE(X)* yr = y + y0 + row * n;
    __global TYPE(Y)* dr = dx + dx0 + row * n;
    const long h = ALIGNED_FROM(dr, n);
    VACC wide = 0;
    ACC tail = 0;
    if (flags & LOGARITHM) {
      FOR_VECTORS(i, n) wide += VGET(X, gr, i);
      FOR_TAIL(i, n) tail += GET(X, gr, i);
      ACC sum = group_sum(FOLD(PLUS, wide) + tail, tmp);
      FOR_VECTORS_FROM(h, i, n) {
        FETCH(gr, max(n, (long)AHEAD) + i);
        FETCH(yr, max(n, (long)AHEAD) + i);
        VSTREAM(Y, dr, i, VGET(X, gr, i) - exp_v(VGET(X, yr, i)) * sum, flags);
      }
      FOR_ENDS(h, i, n) PUT(Y, dr, i, GET(X, gr, i) - exp(GET(X, yr, i)) * sum);
    } else {
      FOR_VECTORS(i, n) wide += VGET(X, gr, i) * VGET(X, yr, i);
      FOR_TAIL(i, n) tail += GET(X, gr, i) * GET(X, yr, i);
      ACC sum = group_sum(FOLD(PLUS, wide) + tail, tmp);
      FOR_VECTORS_FROM(h, i, n) {
        FETCH(gr, max(n, (long)AHEAD) + i);
        FETCH(yr, max(n, (long)AHEAD) + i);
        VSTREAM(Y, dr, i, (VGET(X, gr, i) - sum) * VGET(X, yr, i), flags);
      }
      FOR_ENDS(h, i, n) PUT(Y, dr, i, (GET(X, gr, i) - sum) * GET(X, yr, i));
    }
    END_CONDITION();
  }
  END_STREAM();
}
