// Images sampled at the points of a grid, bilinear or nearest. X: element type. Operands are dense:
// image (N, C, H, W), grid (N, OH, OW, 2) of x and y in [-1, 1], samples (N, C, OH, OW).
#include "rows.cl"

// What lies outside, as PyTorch numbers it.
enum { ZEROS, BORDER, REFLECTION };

// A coordinate in pixels, and its change with the grid's number.
typedef struct {
  ACC at, slope;
} Place;

static Place clip(Place p, long n) {
  const ACC last = (ACC)(n - 1);
  if (!(p.at > 0)) p.at = p.slope = 0;  // NaN too
  if (p.at >= last) {
    p.at = last;
    p.slope = 0;
  }
  return p;
}
// Back and forth between `low` and `low + span`.
static Place reflect(Place p, ACC low, ACC span) {
  if (span <= 0) {
    p.at = p.slope = 0;
    return p;
  }
  const ACC from = p.at - low, distance = fabs(from);
  const ACC flips = floor(distance / span), extra = distance - flips * span;
  const int odd = fmod(flips, (ACC)2) != 0;
  p.slope *= (from < 0) != odd ? -1 : 1;
  p.at = (odd ? span - extra : extra) + low;
  return p;
}
static Place place_of(ACC x, long n, int padding, int corners) {
  Place p;
  p.slope = (corners ? (ACC)(n - 1) : (ACC)n) / 2;
  p.at = corners ? (x + 1) * p.slope : ((x + 1) * (ACC)n - 1) / 2;
  if (padding == REFLECTION) p = reflect(p, corners ? (ACC)0 : (ACC)-0.5, corners ? n - 1 : n);
  if (padding != ZEROS) p = clip(p, n);
  if (!(fabs(p.at) < (ACC)1e9)) p.at = -100;  // no pixel: NaN, and what no integer holds
  return p;
}

// One sample's pixels: four, or one where the nearest is wanted; 0 weight: outside.
typedef struct {
  long at[4];
  ACC weight[4], by_x[4], by_y[4];  // and the weight's change with the grid's numbers
  int count;
} Taps;

static Taps taps_of(__global const TYPE(X) * grid, long H, long W, int nearest, int padding,
                    int corners) {
  const Place x = place_of(GET(X, grid, 0), W, padding, corners);
  const Place y = place_of(GET(X, grid, 1), H, padding, corners);
  Taps t;
  t.count = nearest ? 1 : 4;
  const ACC left = nearest ? rint(x.at) : floor(x.at), top = nearest ? rint(y.at) : floor(y.at);
  const ACC fx = nearest ? 0 : x.at - left, fy = nearest ? 0 : y.at - top;
  for (int k = 0; k < t.count; ++k) {
    const int dx = k & 1, dy = k >> 1;
    const long px = (long)left + dx, py = (long)top + dy;
    const bool inside = px >= 0 && px < W && py >= 0 && py < H;
    const ACC wx = dx ? fx : 1 - fx, wy = dy ? fy : 1 - fy;
    t.at[k] = inside ? py * W + px : 0;
    t.weight[k] = inside ? wx * wy : (ACC)0;
    t.by_x[k] = inside && !nearest ? (dx ? wy : -wy) * x.slope : (ACC)0;
    t.by_y[k] = inside && !nearest ? (dy ? wx : -wx) * y.slope : (ACC)0;
  }
  return t;
}

__kernel void sample(__global const TYPE(X) * image, long image0, __global const TYPE(X) * grid,
                     long grid0, __global TYPE(X) * out, long out0, long N, long C, long H, long W,
                     long OH, long OW, int nearest, int padding, int corners) {
  const long pixels = OH * OW;
  for (long i = FIRST(N * pixels); i < LAST(N * pixels); i += STEP) {
    const Taps t = taps_of(grid + grid0 + 2 * i, H, W, nearest, padding, corners);
    for (long c = 0; c < C; ++c) {
      const long plane = i / pixels * C + c;
      ACC sum = 0;
      for (int k = 0; k < t.count; ++k)
        if (t.weight[k] != 0) sum += t.weight[k] * GET(X, image, image0 + plane * H * W + t.at[k]);
      PUT(X, out, out0 + plane * pixels + i % pixels, sum);
    }
  }
}

__kernel void grid_grad(__global const TYPE(X) * image, long image0, __global const TYPE(X) * grid,
                        long grid0, __global const TYPE(X) * grad, long grad0,
                        __global TYPE(X) * out, long out0, long N, long C, long H, long W, long OH,
                        long OW, int nearest, int padding, int corners) {
  const long pixels = OH * OW;
  for (long i = FIRST(N * pixels); i < LAST(N * pixels); i += STEP) {
    const Taps t = taps_of(grid + grid0 + 2 * i, H, W, nearest, padding, corners);
    ACC by_x = 0, by_y = 0;
    for (long c = 0; c < C; ++c) {
      const long plane = i / pixels * C + c;
      const ACC g = GET(X, grad, grad0 + plane * pixels + i % pixels);
      for (int k = 0; k < t.count; ++k) {
        const ACC v = GET(X, image, image0 + plane * H * W + t.at[k]);
        by_x += g * v * t.by_x[k];
        by_y += g * v * t.by_y[k];
      }
    }
    PUT(X, out, out0 + 2 * i, by_x);
    PUT(X, out, out0 + 2 * i + 1, by_y);
  }
}

// A work-item adds up whole planes, in `sums`: no order of additions is left to chance.
__kernel void image_grad(__global const TYPE(X) * grid, long grid0, __global const TYPE(X) * grad,
                         long grad0, __global ACC* sums, long sums0, __global TYPE(X) * out,
                         long out0, long N, long C, long H, long W, long OH, long OW, int nearest,
                         int padding, int corners) {
  const long pixels = OH * OW;
  for (long plane = FIRST(N * C); plane < LAST(N * C); plane += STEP) {
    __global ACC* sum = sums + sums0 + plane * H * W;
    for (long i = 0; i < H * W; ++i) sum[i] = 0;
    for (long i = 0; i < pixels; ++i) {
      const Taps t =
          taps_of(grid + grid0 + 2 * (plane / C * pixels + i), H, W, nearest, padding, corners);
      const ACC g = GET(X, grad, grad0 + plane * pixels + i);
      for (int k = 0; k < t.count; ++k)
        if (t.weight[k] != 0) sum[t.at[k]] += t.weight[k] * g;
    }
    for (long i = 0; i < H * W; ++i) PUT(X, out, out0 + plane * H * W + i, sum[i]);
  }
}
