// Group norm.
#include "norm.cl"

// A row is one group of one image: `depth` channels of n elements; groups * depth channels.
__kernel void group_norm(__global const TYPE(X)* x, long x0, __global const TYPE(W)* w, long w0,
                         __global const TYPE(W)* b, long b0, __global TYPE(X)* y, long y0,
                         __global TYPE(S)* mean, long mean0, __global TYPE(S)* rstd, long rstd0,
                         long rows, long groups, long depth, long n, float eps, int flags,
                         int lanes) {
  GROUP_LOCAL(tmp);
  FOR_ROWS(row, rows) {
    long size = depth * n, c0 = row % groups * depth;
    __global const TYPE(X)* xr = x + x0 + row * size;
    VACC wide = 0;
    ACC tail = 0;
    FOR_VECTORS(i, size) wide += VGET(X, xr, i);
    FOR_TAIL(i, size) tail += GET(X, xr, i);
    ACC m = wide_sum(wide, tail, tmp) / size;
    wide = 0;
    tail = 0;
    FOR_VECTORS(i, size) {
      VACC d = VGET(X, xr, i) - m;
      wide += d * d;
    }
    FOR_TAIL(i, size) {
      ACC d = GET(X, xr, i) - m;
      tail += d * d;
    }
    ACC r = 1 / sqrt(wide_sum(wide, tail, tmp) / size + (ACC)eps);
    FOR_SPANS(d, depth) {
      ACC scale = flags & HAS_WEIGHT ? r * GET(W, w, w0 + c0 + d) : r;
      ACC shift = flags & HAS_BIAS ? GET(W, b, b0 + c0 + d) : 0;
      __global TYPE(X)* yr = y + y0 + row * size + d * n;
      SPAN_VECTORS(i, n) VPUT(X, yr, i, (VGET(X, xr + d * n, i) - m) * scale + shift);
      SPAN_TAIL(i, n) PUT(X, yr, i, (GET(X, xr + d * n, i) - m) * scale + shift);
    }
    if (get_local_id(0) == 0) {
      PUT(S, mean, mean0 + row, m);
      PUT(S, rstd, rstd0 + row, r);
    }
  }
}

// As layer_norm_dx, the weight being one number for each channel.
__kernel void group_norm_dx(__global const TYPE(X)* g, long g0, __global const TYPE(X)* x, long x0,
                            __global const TYPE(W)* w, long w0, __global const TYPE(S)* mean,
                            long mean0, __global const TYPE(S)* rstd, long rstd0,
                            __global TYPE(X)* dx, long dx0, long rows, long groups, long depth,
                            long n, int flags, int lanes) {
  GROUP_LOCAL(tmp);
  FOR_ROWS(row, rows) {
    long size = depth * n, c0 = row % groups * depth;
    __global const TYPE(X)* gr = g + g0 + row * size;
    __global const TYPE(X)* xr = x + x0 + row * size;
    ACC m = GET(S, mean, mean0 + row);
    ACC r = GET(S, rstd, rstd0 + row);
    VACC wide_gw = 0, wide_gwx = 0;
    ACC gw = 0, gwx = 0;
    FOR_SPANS(d, depth) {
      ACC weight = flags & HAS_WEIGHT ? GET(W, w, w0 + c0 + d) : 1;
      SPAN_VECTORS(i, n) {
        VACC v = VGET(X, gr + d * n, i) * weight;
        wide_gw += v;
        wide_gwx += v * (VGET(X, xr + d * n, i) - m) * r;
      }
      SPAN_TAIL(i, n) {
        ACC v = GET(X, gr + d * n, i) * weight;
        gw += v;
        gwx += v * (GET(X, xr + d * n, i) - m) * r;
      }
    }
    gw = wide_sum(wide_gw, gw, tmp) / size;
    gwx = wide_sum(wide_gwx, gwx, tmp) / size;
    FOR_SPANS(d, depth) {
      ACC weight = flags & HAS_WEIGHT ? GET(W, w, w0 + c0 + d) : 1;
      __global TYPE(X)* dr = dx + dx0 + row * size + d * n;
      SPAN_VECTORS(i, n) {
        VACC v = VGET(X, gr + d * n, i) * weight;
        VPUT(X, dr, i, (v - gw - (VGET(X, xr + d * n, i) - m) * r * gwx) * r);
      }
      SPAN_TAIL(i, n) {
        ACC v = GET(X, gr + d * n, i) * weight;
        PUT(X, dr, i, (v - gw - (GET(X, xr + d * n, i) - m) * r * gwx) * r);
      }
    }
  }
}

// Sums over images and positions, one channel a row; statistics are those of the channel's group.
__kernel void group_norm_dw(__global const TYPE(X)* g, long g0, __global const TYPE(X)* x, long x0,
                            __global const TYPE(S)* mean, long mean0, __global const TYPE(S)* rstd,
                            long rstd0, __global TYPE(W)* dw, long dw0, __global TYPE(W)* db,
                            long db0, long images, long groups, long depth, long n, int flags,
                            int lanes) {
  GROUP_LOCAL(tmp);
  FOR_ROWS(c, groups * depth) {
    VACC wide_g = 0, wide_gx = 0;
    ACC sum_g = 0, sum_gx = 0;
    FOR_SPANS(s, images) {
      long at = (s * groups * depth + c) * n, group = s * groups + c / depth;
      ACC m = GET(S, mean, mean0 + group);
      ACC r = GET(S, rstd, rstd0 + group);
      SPAN_VECTORS(i, n) {
        VACC v = VGET(X, g + g0 + at, i);
        wide_g += v;
        wide_gx += v * (VGET(X, x + x0 + at, i) - m) * r;
      }
      SPAN_TAIL(i, n) {
        ACC v = GET(X, g + g0 + at, i);
        sum_g += v;
        sum_gx += v * (GET(X, x + x0 + at, i) - m) * r;
      }
    }
    sum_g = wide_sum(wide_g, sum_g, tmp);
    sum_gx = wide_sum(wide_gx, sum_gx, tmp);
    if (get_local_id(0) == 0) {
      if (flags & WANT_W) PUT(W, dw, dw0 + c, sum_gx);
      if (flags & WANT_B) PUT(W, db, db0 + c, sum_g);
    }
  }
}
