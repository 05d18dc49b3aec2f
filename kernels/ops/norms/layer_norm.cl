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
    END_CONDITION();
  }
  END_STREAM();
}

// dx = (g*w - mean(g*w) - xhat * mean(g*w*xhat)) * rstd. On CPUs also each work-group's share of
// dw = sum over rows of g * xhat and of db = sum over rows of g, n of each in `sums`: what was read is
// in a cache then.
__kernel void layer_norm_dx(__global const TYPE(X)* g, long g0, __global const TYPE(X)* x, long x0,
                            __global const TYPE(W)* w, long w0, __global const TYPE(S)* mean,
                            long mean0, __global const TYPE(S)* rstd, long rstd0,
                            __global TYPE(X)* dx, long dx0, __global ACC* sums, long sums0,
                            long rows, long n, int flags) {
  GROUP_LOCAL(tmp);
  w += w0;
#if L == 1
  const bool wants_sums = flags & (WANT_W | WANT_B);
  __global ACC* sum_w = sums + sums0 + 2 * n * get_group_id(0);
  __global ACC* sum_b = sum_w + n;
  for (long i = 0; wants_sums && i < 2 * n; ++i) sum_w[i] = 0;
#endif
  FOR_ROWS(row, rows) {
    __global const TYPE(X)* gr = g + g0 + row * n;
    __global const TYPE(X)* xr = x + x0 + row * n;
    __global TYPE(X)* dr = dx + dx0 + row * n;
    ACC m = flags & CENTERED ? GET(S, mean, mean0 + row) : 0;
    ACC r = GET(S, rstd, rstd0 + row);
    VACC wide_gw = 0, wide_gwx = 0;
    ACC gw = 0, gwx = 0;
    FOR_VECTORS(i, n) {
      VACC v = VGET(X, gr, i), h = (VGET(X, xr, i) - m) * r;
#if L == 1
      if (wants_sums) {
        CAT(vstore, V)(CAT(vload, V)(0, sum_w + i) + v * h, 0, sum_w + i);
        CAT(vstore, V)(CAT(vload, V)(0, sum_b + i) + v, 0, sum_b + i);
      }
#endif
      if (flags & HAS_WEIGHT) v *= VGET(W, w, i);
      wide_gw += v;
      wide_gwx += v * h;
    }
    FOR_TAIL(i, n) {
      ACC v = GET(X, gr, i), h = (GET(X, xr, i) - m) * r;
#if L == 1
      if (wants_sums) {
        sum_w[i] += v * h;
        sum_b[i] += v;
      }
#endif
      if (flags & HAS_WEIGHT) v *= GET(W, w, i);
      gw += v;
      gwx += v * h;
    }
    if (!(flags & WANT_X)) continue;
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
    END_CONDITION();  // of WANT_X
  }
  END_STREAM();
}

#if L == 1
// dw and db of the work-groups' shares.
__kernel void layer_norm_sums(__global const ACC* sums, long sums0, __global TYPE(W)* dw, long dw0,
                              __global TYPE(W)* db, long db0, long groups, long n, int flags) {
  for (long i = FIRST(n); i < LAST(n); i += STEP) {
    ACC w = 0, b = 0;
    for (long k = 0; k < groups; ++k) {
      w += sums[sums0 + 2 * n * k + i];
      b += sums[sums0 + 2 * n * k + n + i];
    }
    if (flags & WANT_W) PUT(W, dw, dw0 + i, w);
    if (flags & WANT_B) PUT(W, db, db0 + i, b);
  }
}
#else
// Columns: work-items form LX columns of V elements times L / LX rows.
#define LX 8

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

// dw = sum over rows of g * xhat, db = sum over rows of g; V columns a work-item, as far as there are.
__kernel void layer_norm_dw(__global const TYPE(X)* g, long g0, __global const TYPE(X)* x, long x0,
                            __global const TYPE(S)* mean, long mean0, __global const TYPE(S)* rstd,
                            long rstd0, __global TYPE(W)* dw, long dw0, __global TYPE(W)* db,
                            long db0, long rows, long n, int flags) {
  const long c = ((long)get_group_id(0) * LX + get_local_id(0) % LX) * V;
  __local VACC tmp[L];
  const long left = n - c;
  VACC sum_w = 0, sum_b = 0;
  if (left > 0) {
    for (long row = get_local_id(0) / LX; row < rows; row += L / LX) {
      __global const TYPE(X)* gr = g + g0 + row * n + c;
      __global const TYPE(X)* xr = x + x0 + row * n + c;
      ACC m = flags & CENTERED ? GET(S, mean, mean0 + row) : 0;
      ACC r = GET(S, rstd, rstd0 + row);
      VACC gv = left >= V ? VGET(X, gr, 0) : load_columns(0, gr, left);
      VACC xv = left >= V ? VGET(X, xr, 0) : load_columns(0, xr, left);
      sum_b += gv;
      sum_w += gv * (xv - m) * r;
    }
  }
  if (flags & WANT_W) sum_w = column_sum(sum_w, tmp);
  if (flags & WANT_B) sum_b = column_sum(sum_b, tmp);
  if (left <= 0 || get_local_id(0) >= LX) return;
  if (flags & WANT_W) store_columns(sum_w, dw + dw0 + c, left);
  if (flags & WANT_B) store_columns(sum_b, db + db0 + c, left);
}
#endif
