// Pooling over images (image, channel, y, x). Options: ACC_NAME, V, L; T: element type.
#include "rows.cl"

typedef struct {
  long in_at, out_at, index_at;
  int in[4], out[4], index[4];
  int images, channels;
  int in_size[2], out_size[2];  // y, x
  int kernel_size[2], stride[2], padding[2], dilation[2];
  int divisor;  // 0: the window's size
  int count_padding, adaptive;
} PoolArgs;

// Every pixel (b, c, y, x) of images of that size; a CPU's work-item takes whole rows.
#if DEVICE_IS_CPU
#define FOR_PIXELS(size)                                                                     \
  const long rows = (long)g.images * g.channels * size[0];                                   \
  for (int row = FIRST(rows); row < LAST(rows); row += STEP)                                 \
    for (int y = row % size[0], c = row / size[0] % g.channels,                              \
             b = row / size[0] / g.channels, x = 0;                                          \
         x < size[1]; ++x)
#else
#define FOR_PIXELS(size)                                                                     \
  const long pixels = (long)g.images * g.channels * size[0] * size[1];                       \
  for (long i = FIRST(pixels); i < LAST(pixels); i += STEP)                                  \
    for (int x = (uint)i % size[1], row = (uint)i / size[1], y = row % size[0],              \
             c = row / size[0] % g.channels, b = row / size[0] / g.channels, once = 1;       \
         once; once = 0)
#endif
#define AT(t, y, x) (g.t##_at + b * g.t[0] + c * g.t[1] + (y) * g.t[2] + (x) * g.t[3])

// First pixel of window o; one past its last. Padding is part of it, up to the image's far side.
static int first_of(const PoolArgs* g, int d, int o) {
  return g->adaptive ? o * g->in_size[d] / g->out_size[d] : o * g->stride[d] - g->padding[d];
}
static int end_of(const PoolArgs* g, int d, int o) {
  return g->adaptive ? ((o + 1) * g->in_size[d] + g->out_size[d] - 1) / g->out_size[d]
                     : min(first_of(g, d, o) + (g->kernel_size[d] - 1) * g->dilation[d] + 1,
                           g->in_size[d] + g->padding[d]);
}
// First and last window that may contain pixel p.
static int first_window(const PoolArgs* g, int d, int p) {
  if (g->adaptive) return p * g->out_size[d] / g->in_size[d];
  const int from = p + g->padding[d] - (g->kernel_size[d] - 1) * g->dilation[d];
  return from <= 0 ? 0 : (from + g->stride[d] - 1) / g->stride[d];
}
static int last_window(const PoolArgs* g, int d, int p) {
  const int last = g->adaptive ? ((p + 1) * g->out_size[d] - 1) / g->in_size[d]
                               : (p + g->padding[d]) / g->stride[d];
  return min(last, g->out_size[d] - 1);
}
// Is pixel p one of the taps of window o?
static bool is_tap(const PoolArgs* g, int d, int p, int o) {
  if (g->adaptive) return p >= first_of(g, d, o) && p < end_of(g, d, o);
  const int from_first = p - first_of(g, d, o);
  return from_first >= 0 && from_first <= (g->kernel_size[d] - 1) * g->dilation[d] &&
         (g->dilation[d] == 1 || from_first % g->dilation[d] == 0);
}

#if DEVICE_IS_CPU
// A work-item goes over rows of windows, BLOCK at a time, tap by tap: loops that vectorise.
#define BLOCK 64
// Windows of a block that look at pixels of the image with tap kx: [from, to), counted from the
// block's first window, which looks at pixel `left` there.
static int from_of(const PoolArgs* g, int left) {
  return left >= 0 ? 0 : (-left + g->stride[1] - 1) / g->stride[1];
}
static int to_of(const PoolArgs* g, int left, int n) {
  return left >= g->in_size[1] ? 0 : min(n, (g->in_size[1] - 1 - left) / g->stride[1] + 1);
}
#define FOR_BLOCKS(size)                                                                 \
  const int rows = g.images * g.channels * size[0];                                      \
  for (int row = FIRST(rows); row < LAST(rows); row += STEP)                             \
    for (int y = row % size[0], c = row / size[0] % g.channels,                          \
             b = row / size[0] / g.channels, x = 0, n = min(BLOCK, size[1]);             \
         x < size[1]; x += BLOCK, n = min(BLOCK, size[1] - x))
#define FOR_TAPS                                                                         \
  for (int ky = 0, py = first_of(&g, 0, y); ky < g.kernel_size[0]; ++ky, py += g.dilation[0]) \
    for (int kx = 0, left = first_of(&g, 1, x);                                          \
         kx < g.kernel_size[1] && py >= 0 && py < g.in_size[0];                          \
         ++kx, left += g.dilation[1])

static void max_rows(__global const TYPE(T) * in, __global TYPE(T) * out, __global long* index,
                     PoolArgs g) {
  FOR_BLOCKS(g.out_size) {
    ACC most[BLOCK];
    int at[BLOCK];
    for (int k = 0; k < BLOCK; ++k) {
      most[k] = -INFINITY;
      at[k] = -1;
    }
    FOR_TAPS {
      __global const TYPE(T)* from = in + AT(in, py, left);
      const int step = g.stride[1] * g.in[3], first = py * g.in_size[1] + left;
      const int end = to_of(&g, left, n);
      for (int k = from_of(&g, left); k < end; ++k) {
        const ACC v = GET(T, from, k * step);
        const int take = !(v <= most[k]) | (at[k] < 0);  // larger, or NaN
        most[k] = take ? v : most[k];
        at[k] = take ? first + k * g.stride[1] : at[k];
      }
    }
    for (int k = 0; k < n; ++k) {
      PUT(T, out, AT(out, y, x + k), most[k]);
      index[AT(index, y, x + k)] = max(at[k], 0);
    }
  }
}
#endif

__kernel void pool_max(__global const TYPE(T) * in, __global TYPE(T) * out, __global long* index,
                       PoolArgs g) {
#if DEVICE_IS_CPU
  if (!g.adaptive) {
    max_rows(in, out, index, g);
    return;
  }
#endif
  FOR_PIXELS(g.out_size) {
    const int x0 = first_of(&g, 1, x), x1 = min(end_of(&g, 1, x), g.in_size[1]);
    const int y1 = min(end_of(&g, 0, y), g.in_size[0]);
    ACC most = -INFINITY;
    int at = -1;
    for (int py = first_of(&g, 0, y); py < y1; py += g.dilation[0]) {
      if (py < 0) continue;
      for (int px = x0; px < x1; px += g.dilation[1]) {
        if (px < 0) continue;
        const ACC v = GET(T, in, AT(in, py, px));
        if (at < 0 || v > most || isnan(v)) {
          most = v;
          at = py * g.in_size[1] + px;
        }
      }
    }
    PUT(T, out, AT(out, y, x), most);
    index[AT(index, y, x)] = max(at, 0);
  }
}

// An index that is no tap of its window counts nowhere. A CPU's work-item takes whole planes and
// scatters; elsewhere each pixel of the input asks the windows that contain it.
__kernel void pool_max_grad(__global TYPE(T) * in, __global const TYPE(T) * out,
                            __global const long* index, PoolArgs g) {
#if DEVICE_IS_CPU
  const int planes = g.images * g.channels;
  for (int plane = FIRST(planes); plane < LAST(planes); plane += STEP) {
    const int b = plane / g.channels, c = plane % g.channels;
    for (int y = 0; y < g.in_size[0]; ++y)
      for (int x = 0; x < g.in_size[1]; ++x) PUT(T, in, AT(in, y, x), 0);
    for (int oy = 0; oy < g.out_size[0]; ++oy) {
      for (int ox = 0; ox < g.out_size[1]; ++ox) {
        const long at = index[AT(index, oy, ox)];
        if (at < 0 || at >= (long)g.in_size[0] * g.in_size[1]) continue;
        const int y = (uint)at / (uint)g.in_size[1], x = (int)at - y * g.in_size[1];
        if (is_tap(&g, 0, y, oy) && is_tap(&g, 1, x, ox))
          PUT(T, in, AT(in, y, x), GET(T, in, AT(in, y, x)) + GET(T, out, AT(out, oy, ox)));
      }
    }
  }
#else
  FOR_PIXELS(g.in_size) {
    ACC sum = 0;
    for (int oy = first_window(&g, 0, y); oy <= last_window(&g, 0, y); ++oy)
      for (int ox = first_window(&g, 1, x); ox <= last_window(&g, 1, x); ++ox)
        if (index[AT(index, oy, ox)] == y * g.in_size[1] + x && is_tap(&g, 0, y, oy) &&
            is_tap(&g, 1, x, ox))
          sum += GET(T, out, AT(out, oy, ox));
    PUT(T, in, AT(in, y, x), sum);
  }
#endif
}

// What a window's sum is divided by.
static ACC divisor_of(const PoolArgs* g, int oy, int ox) {
  if (g->divisor != 0) return g->divisor;
  int y0 = first_of(g, 0, oy), y1 = end_of(g, 0, oy);
  int x0 = first_of(g, 1, ox), x1 = end_of(g, 1, ox);
  if (!g->count_padding) {
    y0 = max(y0, 0);
    x0 = max(x0, 0);
    y1 = min(y1, g->in_size[0]);
    x1 = min(x1, g->in_size[1]);
  }
  return max((y1 - y0) * (x1 - x0), 1);
}

#if DEVICE_IS_CPU
static void average_rows(__global const TYPE(T) * in, __global TYPE(T) * out, PoolArgs g) {
  FOR_BLOCKS(g.out_size) {
    ACC sum[BLOCK];
    for (int k = 0; k < BLOCK; ++k) sum[k] = 0;
    FOR_TAPS {
      __global const TYPE(T)* from = in + AT(in, py, left);
      const int step = g.stride[1] * g.in[3], end = to_of(&g, left, n);
      for (int k = from_of(&g, left); k < end; ++k) sum[k] += GET(T, from, k * step);
    }
    for (int k = 0; k < n; ++k) PUT(T, out, AT(out, y, x + k), sum[k] / divisor_of(&g, y, x + k));
  }
}

// A block of the input's row takes from the windows that reach into it.
static void average_grad_rows(__global TYPE(T) * in, __global const TYPE(T) * out, PoolArgs g) {
  FOR_BLOCKS(g.in_size) {
    const int oy1 = last_window(&g, 0, y), ox0 = first_window(&g, 1, x),
              ox1 = last_window(&g, 1, x + n - 1);
    ACC sum[BLOCK];
    for (int k = 0; k < BLOCK; ++k) sum[k] = 0;
    for (int oy = first_window(&g, 0, y); oy <= oy1; ++oy) {
      for (int ox = ox0; ox <= ox1; ++ox) {
        const ACC share = GET(T, out, AT(out, oy, ox)) / divisor_of(&g, oy, ox);
        const int end = min(end_of(&g, 1, ox) - x, n);
        for (int k = max(first_of(&g, 1, ox) - x, 0); k < end; ++k) sum[k] += share;
      }
    }
    for (int k = 0; k < n; ++k) PUT(T, in, AT(in, y, x + k), sum[k]);
  }
}
#endif

__kernel void pool_average(__global const TYPE(T) * in, __global TYPE(T) * out, PoolArgs g) {
#if DEVICE_IS_CPU
  if (!g.adaptive) {
    average_rows(in, out, g);
    return;
  }
#endif
  FOR_PIXELS(g.out_size) {
    const int y1 = min(end_of(&g, 0, y), g.in_size[0]), x1 = min(end_of(&g, 1, x), g.in_size[1]);
    ACC sum = 0;
    for (int py = max(first_of(&g, 0, y), 0); py < y1; ++py)
      for (int px = max(first_of(&g, 1, x), 0); px < x1; ++px) sum += GET(T, in, AT(in, py, px));
    PUT(T, out, AT(out, y, x), sum / divisor_of(&g, y, x));
  }
}

// Each pixel of the input asks the windows that contain it.
__kernel void pool_average_grad(__global TYPE(T) * in, __global const TYPE(T) * out, PoolArgs g) {
#if DEVICE_IS_CPU
  average_grad_rows(in, out, g);
  return;
#endif
  FOR_PIXELS(g.in_size) {
    const int oy1 = last_window(&g, 0, y), ox1 = last_window(&g, 1, x);
    ACC sum = 0;
    for (int oy = first_window(&g, 0, y); oy <= oy1; ++oy)
      for (int ox = first_window(&g, 1, x); ox <= ox1; ++ox)
        sum += GET(T, out, AT(out, oy, ox)) / divisor_of(&g, oy, ox);
    PUT(T, in, AT(in, y, x), sum);
  }
}
