// Batch norm.
#include "norm.cl"

// One channel a row; images * channels * n elements. save_* are absent without TRAINING.
__kernel void batch_norm(__global const TYPE(X)* x, long x0, __global const TYPE(W)* w, long w0,
                         __global const TYPE(W)* b, long b0, __global TYPE(S)* running_mean,
                         long rm0, __global TYPE(S)* running_var, long rv0, __global TYPE(X)* y,
                         long y0, __global TYPE(S)* save_mean, long sm0,
                         __global TYPE(S)* save_invstd, long si0, long images, long channels,
                         long n, float momentum, float eps, int flags, int lanes) {
  GROUP_LOCAL(tmp);
  FOR_ROWS(c, channels) {
    const ACC count = (ACC)images * n;
    ACC m, r, square = 0;
    if (flags & TRAINING) {
      VACC wide = 0;
      ACC tail = 0;
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
      square = wide_sum(wide, tail, tmp);
      r = 1 / sqrt(square / count + (ACC)eps);
    } else {
      m = GET(S, running_mean, rm0 + c);
      r = 1 / sqrt(GET(S, running_var, rv0 + c) + (ACC)eps);
    }
    END_CONDITION();
    if ((flags & TRAINING) && get_local_id(0) == 0) {
      PUT(S, save_mean, sm0 + c, m);
      PUT(S, save_invstd, si0 + c, r);
      if (flags & HAS_RUNNING) {
        ACC f = momentum;
        PUT(S, running_mean, rm0 + c, (1 - f) * GET(S, running_mean, rm0 + c) + f * m);
        PUT(S, running_var, rv0 + c,
            (1 - f) * GET(S, running_var, rv0 + c) + f * square / (count - 1));
      }
    }
    ACC scale = flags & HAS_WEIGHT ? r * GET(W, w, w0 + c) : r;
    ACC shift = flags & HAS_BIAS ? GET(W, b, b0 + c) : 0;
    FOR_SPANS(s, images) {
      __global const TYPE(X)* xr = x + x0 + (s * channels + c) * n;
      __global TYPE(X)* yr = y + y0 + (s * channels + c) * n;
      SPAN_VECTORS(i, n) {
        FETCH(xr, n + i);  // the next channel's span
        VSTREAM(X, yr, i, (VGET(X, xr, i) - m) * scale + shift, flags);
      }
      SPAN_TAIL(i, n) PUT(X, yr, i, (GET(X, xr, i) - m) * scale + shift);
    }
  }
  END_STREAM();
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
        FETCH(g + g0 + at, n + i);
        FETCH(x + x0 + at, n + i);
        VSTREAM(X, dx + dx0 + at, i, (VGET(X, g + g0 + at, i) - mean_g - d) * scale, flags);
      }
      SPAN_TAIL(i, n) {
        ACC d = (GET(X, x + x0 + at, i) - m) * slope;
        PUT(X, dx + dx0 + at, i, (GET(X, g + g0 + at, i) - mean_g - d) * scale);
      }
    }
  }
  END_STREAM();
}
