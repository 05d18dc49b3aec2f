// Layer norm and RMS norm.
#include "norm.cl"

// y = (x - mean) * rstd * w + b over rows of n.
__kernel void layer_norm(__global const TYPE(X)* x, long x0, __global const TYPE(W)* w, long w0,
                         __global const TYPE(W)* b, long b0, __global TYPE(X)* y, long y0,
                         __global TYPE(S)* mean, long mean0, __global TYPE(S)* rstd, long rstd0,
                         long rows, long n, float eps, int flags) {
  GROUP_LOCAL(tmp);
  w += w0;
  b += b0;
  FOR_ROWS(row, rows) {
    __global const TYPE(X)* xr = x + x0 + row * n;
    __global TYPE(X)* yr = y + y0 + row * n;
    VACC wide = 0;
    ACC tail = 0, m = 0;
    if (flags & CENTERED) {
      FOR_VECTORS(i, n) wide += VGET(X, xr, i);
      FOR_TAIL(i, n) tail += GET(X, xr, i);
      m = wide_sum(wide, tail, tmp) / n;
    }
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
    ACC r = 1 / sqrt(wide_sum(wide, tail, tmp) / n + (ACC)eps);
    FOR_VECTORS(i, n) {
      VACC v = (VGET(X, xr, i) - m) * r;
      if (flags & HAS_WEIGHT) v *= VGET(W, w, i);
      if (flags & HAS_BIAS) v += VGET(W, b, i);
      FETCH(xr, max(n, (long)AHEAD) + i);
      VSTREAM(X, yr, i, v, flags);
    }
    FOR_TAIL(i, n) {
      ACC v = (GET(X, xr, i) - m) * r;
      if (flags & HAS_WEIGHT) v *= GET(W, w, i);
      if (flags & HAS_BIAS) v += GET(W, b, i);
      PUT(X, yr, i, v);
    }
    if (get_local_id(0) == 0) {
      if (flags & CENTERED) PUT(S, mean, mean0 + row, m);
      PUT(S, rstd, rstd0 + row, r);
    }
  }
  END_STREAM();
}

// dx = (g*w - mean(g*w) - xhat * mean(g*w*xhat)) * rstd.
__kernel void layer_norm_dx(__global const TYPE(X)* g, long g0, __global const TYPE(X)* x, long x0,
                            __global const TYPE(W)* w, long w0, __global const TYPE(S)* mean,
                            long mean0, __global const TYPE(S)* rstd, long rstd0,
                            __global TYPE(X)* dx, long dx0, long rows, long n, int flags) {
  GROUP_LOCAL(tmp);
  w += w0;
  FOR_ROWS(row, rows) {
    __global const TYPE(X)* gr = g + g0 + row * n;
    __global const TYPE(X)* xr = x + x0 + row * n;
    __global TYPE(X)* dr = dx + dx0 + row * n;
    ACC m = flags & CENTERED ? GET(S, mean, mean0 + row) : 0;
    ACC r = GET(S, rstd, rstd0 + row);
    VACC wide_gw = 0, wide_gwx = 0;
    ACC gw = 0, gwx = 0;
    FOR_VECTORS(i, n) {
      VACC v = VGET(X, gr, i);
      if (flags & HAS_WEIGHT) v *= VGET(W, w, i);
      wide_gw += v;
      wide_gwx += v * (VGET(X, xr, i) - m) * r;
    }
    FOR_TAIL(i, n) {
      ACC v = GET(X, gr, i);
      if (flags & HAS_WEIGHT) v *= GET(W, w, i);
      gw += v;
      gwx += v * (GET(X, xr, i) - m) * r;
    }
    gw = flags & CENTERED ? wide_sum(wide_gw, gw, tmp) / n : 0;
    gwx = wide_sum(wide_gwx, gwx, tmp) / n;
    FOR_VECTORS(i, n) {
      VACC v = VGET(X, gr, i);
      if (flags & HAS_WEIGHT) v *= VGET(W, w, i);
      FETCH(gr, max(n, (long)AHEAD) + i);
      FETCH(xr, max(n, (long)AHEAD) + i);
      VSTREAM(X, dr, i, (v - gw - (VGET(X, xr, i) - m) * r * gwx) * r, flags);
    }
    FOR_TAIL(i, n) {
      ACC v = GET(X, gr, i);
      if (flags & HAS_WEIGHT) v *= GET(W, w, i);
      PUT(X, dr, i, (v - gw - (GET(X, xr, i) - m) * r * gwx) * r);
    }
  }
  END_STREAM();
}

// Columns: work-items form LX columns of V elements times L / LX rows.
#if L > 1
#define LX 8
#else
#define LX 1
#endif

#if L > 1
static VACC column_sum(VACC v, __local VACC* tmp) {
  uint lid = get_local_id(0);
  barrier(CLK_LOCAL_MEM_FENCE);
  tmp[lid] = v;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint rows = L / LX / 2; rows > 0; rows /= 2) {
    if (lid < rows * LX) tmp[lid] += tmp[lid + rows * LX];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  return tmp[lid % LX];
}
#else
#define column_sum(v, tmp) (v)
#endif

static VACC load_columns(VACC wide, __global const TYPE(X)* p, long left) {
  ACC lanes[V];
  for (int k = 0; k < V; ++k) lanes[k] = k < left ? GET(X, p, k) : 0;
  return CAT(vload, V)(0, lanes);
}
static void store_columns(VACC v, __global TYPE(W)* p, long left) {
  ACC lanes[V];
  CAT(vstore, V)(v, 0, lanes);
  for (int k = 0; k < V && k < left; ++k) PUT(W, p, k, lanes[k]);
}

// Of V columns from c on, as far as there are any.
static void column_grads(__global const TYPE(X)* g, __global const TYPE(X)* x,
                         __global const TYPE(S)* mean, __global const TYPE(S)* rstd,
                         __global TYPE(W)* dw, __global TYPE(W)* db, long rows, long n, int flags,
                         long c
#if L > 1
                         ,
                         __local VACC* tmp
#endif
) {
  long left = n - c;
  VACC sum_w = 0, sum_b = 0;
  if (left > 0) {
    for (long row = get_local_id(0) / LX; row < rows; row += L / LX) {
      __global const TYPE(X)* gr = g + row * n + c;
      __global const TYPE(X)* xr = x + row * n + c;
      ACC m = flags & CENTERED ? GET(S, mean, row) : 0;
      ACC r = GET(S, rstd, row);
      VACC gv = left >= V ? VGET(X, gr, 0) : load_columns(0, gr, left);
      VACC xv = left >= V ? VGET(X, xr, 0) : load_columns(0, xr, left);
      sum_b += gv;
      sum_w += gv * (xv - m) * r;
    }
  }
  if (flags & WANT_W) sum_w = column_sum(sum_w, tmp);
  if (flags & WANT_B) sum_b = column_sum(sum_b, tmp);
  if (left <= 0 || get_local_id(0) >= LX) return;
  if (flags & WANT_W) store_columns(sum_w, dw + c, left);
  if (flags & WANT_B) store_columns(sum_b, db + c, left);
}

// dw = sum over rows of g * xhat, db = sum over rows of g. A CPU's work-groups take `strips`
// vectors of columns each, 1 or STRIPS: memory is read in longer pieces, sums stay in registers.
#define STRIPS 8
#define ROWS_AHEAD 4  // a row's piece is too short for a core to see where the next one is
#define UNROLLED(k) _Pragma("unroll") for (int k = 0; k < STRIPS; ++k)
__kernel void layer_norm_dw(__global const TYPE(X)* g, long g0, __global const TYPE(X)* x, long x0,
                            __global const TYPE(S)* mean, long mean0, __global const TYPE(S)* rstd,
                            long rstd0, __global TYPE(W)* dw, long dw0, __global TYPE(W)* db,
                            long db0, long rows, long n, int strips, int flags) {
#if L == 1
  const long first = (long)get_group_id(0) * strips * V;
  if (strips == STRIPS && first + STRIPS * V <= n) {
    VACC sums_w[STRIPS], sums_b[STRIPS];
    UNROLLED(k) sums_w[k] = sums_b[k] = 0;
    for (long row = 0; row < rows; ++row) {
      const ACC m = flags & CENTERED ? GET(S, mean, mean0 + row) : 0;
      const ACC r = GET(S, rstd, rstd0 + row);
      UNROLLED(k) {
        FETCH(g + g0, (row + ROWS_AHEAD) * n + first + k * V);
        FETCH(x + x0, (row + ROWS_AHEAD) * n + first + k * V);
        const VACC gv = VGET(X, g, g0 + row * n + first + k * V);
        sums_b[k] += gv;
        sums_w[k] += gv * (VGET(X, x, x0 + row * n + first + k * V) - m) * r;
      }
    }
    UNROLLED(k) {
      if (flags & WANT_W) store_columns(sums_w[k], dw + dw0 + first + k * V, V);
      if (flags & WANT_B) store_columns(sums_b[k], db + db0 + first + k * V, V);
    }
    return;
  }
  for (long c = first; c < min(first + strips * V, n); c += V)
    column_grads(g + g0, x + x0, mean + mean0, rstd + rstd0, dw + dw0, db + db0, rows, n, flags, c);
#else
  const long c = ((long)get_group_id(0) * LX + get_local_id(0) % LX) * V;
  __local VACC tmp[L];
  column_grads(g + g0, x + x0, mean + mean0, rstd + rstd0, dw + dw0, db + db0, rows, n, flags, c,
               tmp);
#endif
}
