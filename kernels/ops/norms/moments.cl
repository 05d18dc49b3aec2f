// Mean, variance and log-sum-exp of dense rows of n elements. X: read, Y: written.
#include "rows.cl"

#define ROOT 1
#define WANT_MEAN 2

__kernel void variance(__global const TYPE(X)* x, long x0, __global TYPE(Y)* spread, long spread0,
                       __global TYPE(Y)* mean, long mean0, long rows, long n, float correction,
                       int flags) {
  GROUP_LOCAL(tmp);
  FOR_ROWS(row, rows) {
    __global const TYPE(X)* xr = x + x0 + row * n;
    VACC wide = 0;
    ACC tail = 0;
    FOR_VECTORS(i, n) wide += VGET(X, xr, i);
    FOR_TAIL(i, n) tail += GET(X, xr, i);
    ACC m = group_sum(FOLD(PLUS, wide) + tail, tmp) / n;
    wide = 0;
    tail = 0;
    FOR_VECTORS(i, n) {
      VACC d = VGET(X, xr, i) - m;
      wide += d * d;
    }
    FOR_TAIL(i, n) {
      ACC d = GET(X, xr, i) - m;
      tail += d * d;
    }
    ACC v = group_sum(FOLD(PLUS, wide) + tail, tmp) / fmax((ACC)(n - (ACC)correction), (ACC)0);
    if (get_local_id(0) == 0) {
      PUT(Y, spread, spread0 + row, flags & ROOT ? sqrt(v) : v);
      if (flags & WANT_MEAN) PUT(Y, mean, mean0 + row, m);
    }
  }
}

#define LARGER(a, b) fmax(a, b)
#if L > 1
DEFINE_GROUP_FOLD(group_max, LARGER)
#else
#define group_max(v, tmp) (v)
#endif

__kernel void log_sum_exp(__global const TYPE(X)* x, long x0, __global TYPE(Y)* y, long y0,
                          long rows, long n) {
  GROUP_LOCAL(tmp);
  FOR_ROWS(row, rows) {
    __global const TYPE(X)* xr = x + x0 + row * n;
    VACC wide = -INFINITY;
    ACC tail = -INFINITY;
    FOR_VECTORS(i, n) wide = fmax(wide, VGET(X, xr, i));
    FOR_TAIL(i, n) tail = fmax(tail, GET(X, xr, i));
    ACC top = group_max(LARGER(FOLD(LARGER, wide), tail), tmp);
    top = isinf(top) ? 0 : top;
    wide = 0;
    tail = 0;
    FOR_VECTORS(i, n) wide += exp(VGET(X, xr, i) - top);
    FOR_TAIL(i, n) tail += exp(GET(X, xr, i) - top);
    ACC sum = group_sum(FOLD(PLUS, wide) + tail, tmp);
    if (get_local_id(0) == 0) PUT(Y, y, y0 + row, top + log(sum));
  }
}
