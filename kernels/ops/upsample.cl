// Resampling images by nearest pixel or bilinear weights. X: element type. Operands are dense planes:
// in (P, IH, IW), out (P, OH, OW). fy, fx: input pixels for each output pixel where the call names
// them, else 0 and by the sizes.
#include "rows.cl"

// Which input pixels an output pixel is made of: `first` with weight 1 - w, `second` with w.
typedef struct {
  long first, second;
  ACC w;
} Taps;

static Taps taps_of(long o, long in, long out, float factor, int linear, int corners) {
  Taps t;
  if (!linear) {  // in float for every type, as PyTorch does
    const float scale = factor > 0 ? factor : (float)in / (float)out;
    t.first = out == in ? o : out == 2 * in ? o / 2 : min((long)floor((float)o * scale), in - 1);
    t.second = t.first;
    t.w = 0;
    return t;
  }
  const ACC scale = corners ? (out > 1 ? (ACC)(in - 1) / (ACC)(out - 1) : (ACC)0)
                            : (factor > 0 ? (ACC)factor : (ACC)in / (ACC)out);
  const ACC at = corners ? o * scale : fmax(scale * (o + (ACC)0.5) - (ACC)0.5, (ACC)0);
  t.first = min((long)at, in - 1);
  t.second = min(t.first + 1, in - 1);
  t.w = clamp(at - (ACC)t.first, (ACC)0, (ACC)1);
  return t;
}
static ACC weight_of(Taps t, long i) {
  return (i == t.first ? 1 - t.w : (ACC)0) + (i == t.second ? t.w : (ACC)0);
}

__kernel void resample(__global const TYPE(X) * in, long in0, __global TYPE(X) * out, long out0,
                       long planes, long IH, long IW, long OH, long OW, float fy, float fx,
                       int linear, int corners) {
  for (long row = FIRST(planes * OH); row < LAST(planes * OH); row += STEP) {
    const Taps y = taps_of(row % OH, IH, OH, fy, linear, corners);
    const long first = in0 + (row / OH * IH + y.first) * IW;
    const long second = in0 + (row / OH * IH + y.second) * IW;
    for (long ox = 0; ox < OW; ++ox) {
      const Taps x = taps_of(ox, IW, OW, fx, linear, corners);
      ACC v = GET(X, in, first + x.first);
      if (linear)
        v = (1 - y.w) * ((1 - x.w) * v + x.w * GET(X, in, first + x.second)) +
            y.w * ((1 - x.w) * GET(X, in, second + x.first) + x.w * GET(X, in, second + x.second));
      PUT(X, out, out0 + row * OW + ox, v);
    }
  }
}

// Output pixels that may have input pixel i among their taps: an estimate with room on both sides.
static long2 outputs_of(long i, long in, long out, float factor, int linear, int corners) {
  const float scale = linear && corners ? (out > 1 ? (float)(in - 1) / (float)(out - 1) : 0)
                                        : (factor > 0 ? factor : (float)in / (float)out);
  if (scale <= 0) return (long2)(0, out);
  const float low = (float)(i - 1) / scale - 2, high = (float)(i + 2) / scale + 2;
  // The last input pixel also stands for what lies beyond it.
  return (long2)(clamp((long)low, 0L, out), i >= in - 1 ? out : clamp((long)high + 1, 0L, out));
}

// Each input pixel asks the output pixels around it.
__kernel void resample_grad(__global TYPE(X) * in, long in0, __global const TYPE(X) * out,
                            long out0, long planes, long IH, long IW, long OH, long OW, float fy,
                            float fx, int linear, int corners) {
  for (long k = FIRST(planes * IH * IW); k < LAST(planes * IH * IW); k += STEP) {
    const long iy = k / IW % IH, ix = k % IW;
    const long2 ys = outputs_of(iy, IH, OH, fy, linear, corners);
    const long2 xs = outputs_of(ix, IW, OW, fx, linear, corners);
    ACC sum = 0;
    for (long oy = ys.x; oy < ys.y; ++oy) {
      const ACC wy = weight_of(taps_of(oy, IH, OH, fy, linear, corners), iy);
      if (wy == 0) continue;
      for (long ox = xs.x; ox < xs.y; ++ox) {
        const ACC wx = weight_of(taps_of(ox, IW, OW, fx, linear, corners), ix);
        if (wx != 0) sum += wy * wx * GET(X, out, out0 + (k / (IH * IW) * OH + oy) * OW + ox);
      }
    }
    PUT(X, in, in0 + k, sum);
  }
}
