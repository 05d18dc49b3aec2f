// Normalisation. X: input, output and their gradients. W: weight, bias and their gradients.
// S: saved statistics. Operands are dense row-major; `flags` says which of the optional ones exist.
#include "rows.cl"

#define HAS_WEIGHT 1
#define HAS_BIAS 2
#define CENTERED 4  // layer norm; without it RMS norm
#define TRAINING 8
#define HAS_RUNNING 16
#define WANT_X 32
#define WANT_W 64
#define WANT_B 128

static ACC wide_sum(VACC wide, ACC tail, __local ACC* tmp) {
  return group_sum(FOLD(PLUS, wide) + tail, tmp);
}

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
      VPUT(X, yr, i, v);
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
      VPUT(X, dr, i, (v - gw - (VGET(X, xr, i) - m) * r * gwx) * r);
    }
    FOR_TAIL(i, n) {
      ACC v = GET(X, gr, i);
      if (flags & HAS_WEIGHT) v *= GET(W, w, i);
      PUT(X, dr, i, (v - gw - (GET(X, xr, i) - m) * r * gwx) * r);
    }
  }
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

// dw = sum over rows of g * xhat, db = sum over rows of g.
__kernel void layer_norm_dw(__global const TYPE(X)* g, long g0, __global const TYPE(X)* x, long x0,
                            __global const TYPE(S)* mean, long mean0, __global const TYPE(S)* rstd,
                            long rstd0, __global TYPE(W)* dw, long dw0, __global TYPE(W)* db,
                            long db0, long rows, long n, int flags) {
#if L > 1
  __local VACC tmp[L];
#endif
  long c = ((long)get_group_id(0) * LX + get_local_id(0) % LX) * V;
  long left = n - c;
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

// Spans: a channel's elements are `spans` stretches of n contiguous elements. `lanes` work-items
// (a power of two up to L) share a stretch, L / lanes stretches are taken at a time.
#define FOR_SPANS(s, spans) \
  for (long s = get_local_id(0) / lanes; s < (spans); s += (L + lanes - 1) / lanes)
#define SPAN_VECTORS(i, n) \
  for (long i = (long)(get_local_id(0) % lanes) * V; i + V <= (n); i += (long)lanes * V)
#define SPAN_TAIL(i, n) \
  for (long i = (n) - (n) % V + get_local_id(0) % lanes; i < (n); i += lanes)

// One channel a row; images * channels * n elements. save_* are absent without TRAINING.
__kernel void batch_norm(__global const TYPE(X)* x, long x0, __global const TYPE(W)* w, long w0,
                         __global const TYPE(W)* b, long b0, __global TYPE(S)* running_mean,
                         long rm0, __global TYPE(S)* running_var, long rv0, __global TYPE(X)* y,
                         long y0, __global TYPE(S)* save_mean, long sm0,
                         __global TYPE(S)* save_invstd, long si0, long images, long channels,
                         long n, float momentum, float eps, int flags, int lanes) {
  GROUP_LOCAL(tmp);
  FOR_ROWS(c, channels) {
    ACC m, r;
    if (flags & TRAINING) {
      VACC wide = 0;
      ACC tail = 0, count = (ACC)images * n;
      FOR_SPANS(s, images) {
        __global const TYPE(X)* xr = x + x0 + (s * channels + c) * n;
        SPAN_VECTORS(i, n) wide += VGET(X, xr, i);
        SPAN_TAIL(i, n) tail += GET(X, xr, i);
      }
      m = wide_sum(wide, tail, tmp) / count;
      wide = 0;
      tail = 0;
      FOR_SPANS(s, images) {
        __global const TYPE(X)* xr = x + x0 + (s * channels + c) * n;
        SPAN_VECTORS(i, n) {
          VACC d = VGET(X, xr, i) - m;
          wide += d * d;
        }
        SPAN_TAIL(i, n) {
          ACC d = GET(X, xr, i) - m;
          tail += d * d;
        }
      }
      ACC square = wide_sum(wide, tail, tmp);
      r = 1 / sqrt(square / count + (ACC)eps);
      if (get_local_id(0) == 0) {
        PUT(S, save_mean, sm0 + c, m);
        PUT(S, save_invstd, si0 + c, r);
        if (flags & HAS_RUNNING) {
          ACC f = momentum;
          PUT(S, running_mean, rm0 + c, (1 - f) * GET(S, running_mean, rm0 + c) + f * m);
          PUT(S, running_var, rv0 + c,
                (1 - f) * GET(S, running_var, rv0 + c) + f * square / (count - 1));
        }
      }
    } else {
      m = GET(S, running_mean, rm0 + c);
      r = 1 / sqrt(GET(S, running_var, rv0 + c) + (ACC)eps);
    }
    ACC scale = flags & HAS_WEIGHT ? r * GET(W, w, w0 + c) : r;
    ACC shift = flags & HAS_BIAS ? GET(W, b, b0 + c) : 0;
    FOR_SPANS(s, images) {
      __global const TYPE(X)* xr = x + x0 + (s * channels + c) * n;
      __global TYPE(X)* yr = y + y0 + (s * channels + c) * n;
      SPAN_VECTORS(i, n) VPUT(X, yr, i, (VGET(X, xr, i) - m) * scale + shift);
      SPAN_TAIL(i, n) PUT(X, yr, i, (GET(X, xr, i) - m) * scale + shift);
    }
  }
}

// dw = sum g*xhat, db = sum g; dx = w*r * (g - mean(g) - xhat * mean(g*xhat)) in training (the
// means over images and positions), w*r*g otherwise. With HAS_RUNNING the statistics are running
// ones: `spread` holds a variance, not 1 / standard deviation.
__kernel void batch_norm_backward(__global const TYPE(X)* g, long g0, __global const TYPE(X)* x,
                                  long x0, __global const TYPE(W)* w, long w0,
                                  __global const TYPE(S)* mean, long mean0,
                                  __global const TYPE(S)* spread, long spread0,
                                  __global TYPE(X)* dx, long dx0, __global TYPE(W)* dw, long dw0,
                                  __global TYPE(W)* db, long db0, long images, long channels,
                                  long n, float eps, int flags, int lanes) {
  GROUP_LOCAL(tmp);
  FOR_ROWS(c, channels) {
    ACC m = GET(S, mean, mean0 + c);
    ACC r = GET(S, spread, spread0 + c);
    if (flags & HAS_RUNNING) r = 1 / sqrt(r + (ACC)eps);
    VACC wide_g = 0, wide_gx = 0;
    ACC sum_g = 0, sum_gx = 0;
    FOR_SPANS(s, images) {
      long at = (s * channels + c) * n;
      SPAN_VECTORS(i, n) {
        VACC v = VGET(X, g + g0 + at, i);
        wide_g += v;
        wide_gx += v * (VGET(X, x + x0 + at, i) - m);
      }
      SPAN_TAIL(i, n) {
        ACC v = GET(X, g + g0 + at, i);
        sum_g += v;
        sum_gx += v * (GET(X, x + x0 + at, i) - m);
      }
    }
    sum_g = wide_sum(wide_g, sum_g, tmp);
    sum_gx = wide_sum(wide_gx, sum_gx, tmp) * r;
    if (get_local_id(0) == 0) {
      if (flags & WANT_W) PUT(W, dw, dw0 + c, sum_gx);
      if (flags & WANT_B) PUT(W, db, db0 + c, sum_g);
    }
    if (!(flags & WANT_X)) continue;
    ACC count = (ACC)images * n;
    ACC scale = flags & HAS_WEIGHT ? r * GET(W, w, w0 + c) : r;
    ACC mean_g = flags & TRAINING ? sum_g / count : 0;
    ACC slope = flags & TRAINING ? sum_gx / count * r : 0;
    FOR_SPANS(s, images) {
      long at = (s * channels + c) * n;
      SPAN_VECTORS(i, n) {
        VACC d = (VGET(X, x + x0 + at, i) - m) * slope;
        VPUT(X, dx + dx0 + at, i, (VGET(X, g + g0 + at, i) - mean_g - d) * scale);
      }
      SPAN_TAIL(i, n) {
        ACC d = (GET(X, x + x0 + at, i) - m) * slope;
        PUT(X, dx + dx0 + at, i, (GET(X, g + g0 + at, i) - mean_g - d) * scale);
      }
    }
  }
}

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
