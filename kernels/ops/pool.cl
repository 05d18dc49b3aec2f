// Pooling over images (image, channel, y, x). Options: ACC_NAME, V, L; T: element type.
// Gradients gather: each pixel of the input asks the windows that contain it.
#include "rows.cl"

typedef struct {
  long in_at, in[4], out_at, out[4], index_at, index[4];
  long images, channels;
  long in_size[2], out_size[2];  // y, x
  long kernel_size[2], stride[2], padding[2], dilation[2];
  long divisor;  // 0: the window's size
  int count_padding, adaptive;
} PoolArgs;

// The images' index of item i among images of size y by x.
#define LOCATE(i, size)                                                             \
  const long x = i % size[1], y = i / size[1] % size[0];                            \
  const long c = i / size[1] / size[0] % g.channels, b = i / size[1] / size[0] / g.channels;

// First pixel of window o; one past its last. Padding is part of it, up to the image's far side.
static long first_of(const PoolArgs* g, int d, long o) {
  return g->adaptive ? o * g->in_size[d] / g->out_size[d] : o * g->stride[d] - g->padding[d];
}
static long end_of(const PoolArgs* g, int d, long o) {
  return g->adaptive ? ((o + 1) * g->in_size[d] + g->out_size[d] - 1) / g->out_size[d]
                     : min(first_of(g, d, o) + (g->kernel_size[d] - 1) * g->dilation[d] + 1,
                           g->in_size[d] + g->padding[d]);
}
// First and last window that may contain pixel p.
static long first_window(const PoolArgs* g, int d, long p) {
  const long reach = (g->kernel_size[d] - 1) * g->dilation[d];
  if (g->adaptive) return p * g->out_size[d] / g->in_size[d];
  const long from = p + g->padding[d] - reach;
  return from <= 0 ? 0 : (from + g->stride[d] - 1) / g->stride[d];
}
static long last_window(const PoolArgs* g, int d, long p) {
  const long last = g->adaptive ? ((p + 1) * g->out_size[d] - 1) / g->in_size[d]
                                : (p + g->padding[d]) / g->stride[d];
  return min(last, g->out_size[d] - 1);
}

__kernel void pool_max(__global const TYPE(T) * in, __global TYPE(T) * out, __global long* index,
                       PoolArgs g) {
  const long count = g.images * g.channels * g.out_size[0] * g.out_size[1];
  for (long i = FIRST(count); i < LAST(count); i += STEP) {
    LOCATE(i, g.out_size)
    const long plane = g.in_at + b * g.in[0] + c * g.in[1];
    ACC most = -INFINITY;
    long at = -1;
    for (long ky = 0; ky < g.kernel_size[0]; ++ky) {
      const long py = first_of(&g, 0, y) + ky * g.dilation[0];
      if (py < 0 || py >= g.in_size[0]) continue;
      for (long kx = 0; kx < g.kernel_size[1]; ++kx) {
        const long px = first_of(&g, 1, x) + kx * g.dilation[1];
        if (px < 0 || px >= g.in_size[1]) continue;
        const ACC v = GET(T, in, plane + py * g.in[2] + px * g.in[3]);
        if (at < 0 || v > most || isnan(v)) {
          most = v;
          at = py * g.in_size[1] + px;
        }
      }
    }
    PUT(T, out, g.out_at + b * g.out[0] + c * g.out[1] + y * g.out[2] + x * g.out[3], most);
    index[g.index_at + b * g.index[0] + c * g.index[1] + y * g.index[2] + x * g.index[3]] =
        max(at, 0L);
  }
}

// An index that its window does not contain counts nowhere.
__kernel void pool_max_grad(__global TYPE(T) * in, __global const TYPE(T) * out,
                            __global const long* index, PoolArgs g) {
  const long count = g.images * g.channels * g.in_size[0] * g.in_size[1];
  for (long i = FIRST(count); i < LAST(count); i += STEP) {
    LOCATE(i, g.in_size)
    const long out_plane = g.out_at + b * g.out[0] + c * g.out[1];
    const long index_plane = g.index_at + b * g.index[0] + c * g.index[1];
    ACC sum = 0;
    for (long oy = first_window(&g, 0, y); oy <= last_window(&g, 0, y); ++oy) {
      if ((y - first_of(&g, 0, oy)) % g.dilation[0] != 0) continue;
      for (long ox = first_window(&g, 1, x); ox <= last_window(&g, 1, x); ++ox) {
        if ((x - first_of(&g, 1, ox)) % g.dilation[1] == 0 &&
            index[index_plane + oy * g.index[2] + ox * g.index[3]] == y * g.in_size[1] + x)
          sum += GET(T, out, out_plane + oy * g.out[2] + ox * g.out[3]);
      }
    }
    PUT(T, in, g.in_at + b * g.in[0] + c * g.in[1] + y * g.in[2] + x * g.in[3], sum);
  }
}

// What a window's sum is divided by.
static ACC divisor_of(const PoolArgs* g, long oy, long ox) {
  if (g->divisor != 0) return g->divisor;
  long y0 = first_of(g, 0, oy), y1 = end_of(g, 0, oy), x0 = first_of(g, 1, ox);
  long x1 = end_of(g, 1, ox);
  if (!g->count_padding) {
    y0 = max(y0, 0L);
    x0 = max(x0, 0L);
    y1 = min(y1, g->in_size[0]);
    x1 = min(x1, g->in_size[1]);
  }
  return max((y1 - y0) * (x1 - x0), 1L);
}

__kernel void pool_average(__global const TYPE(T) * in, __global TYPE(T) * out, PoolArgs g) {
  const long count = g.images * g.channels * g.out_size[0] * g.out_size[1];
  for (long i = FIRST(count); i < LAST(count); i += STEP) {
    LOCATE(i, g.out_size)
    const long plane = g.in_at + b * g.in[0] + c * g.in[1];
    ACC sum = 0;
    for (long py = max(first_of(&g, 0, y), 0L); py < min(end_of(&g, 0, y), g.in_size[0]); ++py)
      for (long px = max(first_of(&g, 1, x), 0L); px < min(end_of(&g, 1, x), g.in_size[1]); ++px)
        sum += GET(T, in, plane + py * g.in[2] + px * g.in[3]);
    PUT(T, out, g.out_at + b * g.out[0] + c * g.out[1] + y * g.out[2] + x * g.out[3],
        sum / divisor_of(&g, y, x));
  }
}

__kernel void pool_average_grad(__global TYPE(T) * in, __global const TYPE(T) * out, PoolArgs g) {
  const long count = g.images * g.channels * g.in_size[0] * g.in_size[1];
  for (long i = FIRST(count); i < LAST(count); i += STEP) {
    LOCATE(i, g.in_size)
    const long plane = g.out_at + b * g.out[0] + c * g.out[1];
    ACC sum = 0;
    for (long oy = first_window(&g, 0, y); oy <= last_window(&g, 0, y); ++oy)
      for (long ox = first_window(&g, 1, x); ox <= last_window(&g, 1, x); ++ox)
        sum += GET(T, out, plane + oy * g.out[2] + ox * g.out[3]) / divisor_of(&g, oy, ox);
    PUT(T, in, g.in_at + b * g.in[0] + c * g.in[1] + y * g.in[2] + x * g.in[3], sum);
  }
}
