// Resampling images by nearest pixel, linear or cubic weights. X: element type. Operands are dense planes:
// in (P, IH, IW), out (P, OH, OW). fy, fx: input pixels for each output pixel where the call names
// them, else 0 and by the sizes.
#include "rows.cl"

// How an output pixel is made, as in upsample.cc.
enum { NEAREST, NEAREST_EXACT, LINEAR, CUBIC };

// Which input pixels along one dimension: `count` of them, with weights.
typedef struct {
  long at[4];
  ACC weight[4];
  int count;
} Taps;

static float nearest_scale(long in, long out, float factor) {
  return factor > 0 ? factor : (float)in / (float)out;
}
// Keys' cubic with a = -0.75, at distance 1 + t, t, 1 - t and 2 - t.
static ACC near_weight(ACC x) { return ((ACC)1.25 * x - (ACC)2.25) * x * x + 1; }
static ACC far_weight(ACC x) {
  return (((ACC)-0.75 * x + (ACC)3.75) * x - 6) * x + 3;
}

static Taps taps_of(long o, long in, long out, float factor, int mode, int corners) {
  Taps t;
  t.count = 1;
  t.weight[0] = 1;
  if (mode == NEAREST) {  // in float for every type, as PyTorch does
    const long at = min((long)floor((float)o * nearest_scale(in, out, factor)), in - 1);
    t.at[0] = out == in ? o : out == 2 * in ? o / 2 : at;
    return t;
  }
  if (mode == NEAREST_EXACT) {
    t.at[0] = min((long)floor(((float)o + 0.5f) * nearest_scale(in, out, factor)), in - 1);
    return t;
  }
  const ACC scale = corners ? (out > 1 ? (ACC)(in - 1) / (ACC)(out - 1) : (ACC)0)
                            : (factor > 0 ? (ACC)factor : (ACC)in / (ACC)out);
  const ACC place = corners ? o * scale : scale * (o + (ACC)0.5) - (ACC)0.5;
  if (mode == LINEAR) {
    const ACC inside = fmax(place, (ACC)0);
    const long first = min((long)inside, in - 1);
    const ACC w = clamp(inside - (ACC)first, (ACC)0, (ACC)1);
    t.count = 2;
    t.at[0] = first;
    t.at[1] = min(first + 1, in - 1);
    t.weight[0] = 1 - w;
    t.weight[1] = w;
    return t;
  }
  const ACC below = floor(place), w = place - below;
  t.count = 4;
  for (int k = 0; k < 4; ++k) t.at[k] = clamp((long)below + k - 1, 0L, in - 1);
  t.weight[0] = far_weight(1 + w);
  t.weight[1] = near_weight(w);
  t.weight[2] = near_weight(1 - w);
  t.weight[3] = far_weight(2 - w);
  return t;
}
static ACC weight_of(const Taps* t, long i) {
  ACC weight = 0;
  for (int k = 0; k < t->count; ++k) weight += t->at[k] == i ? t->weight[k] : (ACC)0;
  return weight;
}

__kernel void resample(__global const TYPE(X) * in, long in0, __global TYPE(X) * out, long out0,
                       long planes, long IH, long IW, long OH, long OW, float fy, float fx,
                       int mode, int corners) {
  for (long row = FIRST(planes * OH); row < LAST(planes * OH); row += STEP) {
    const Taps y = taps_of(row % OH, IH, OH, fy, mode, corners);
    const long plane = in0 + row / OH * IH * IW;
    for (long ox = 0; ox < OW; ++ox) {
      const Taps x = taps_of(ox, IW, OW, fx, mode, corners);
      ACC v = 0;
      for (int j = 0; j < y.count; ++j) {
        ACC line = 0;
        for (int i = 0; i < x.count; ++i)
          line += x.weight[i] * GET(X, in, plane + y.at[j] * IW + x.at[i]);
        v += y.weight[j] * line;
      }
      PUT(X, out, out0 + row * OW + ox, v);
    }
  }
}

// Output pixels that may have input pixel i among their taps: an estimate with room on both sides.
static long2 outputs_of(long i, long in, long out, float factor, int mode, int corners) {
  const float scale = mode >= LINEAR && corners
                          ? (out > 1 ? (float)(in - 1) / (float)(out - 1) : 0)
                          : nearest_scale(in, out, factor);
  if (scale <= 0) return (long2)(0, out);
  const float low = (float)(i - 2) / scale - 2, high = (float)(i + 3) / scale + 2;
  // The first and last input pixels also stand for what lies beyond them.
  return (long2)(i == 0 ? 0 : clamp((long)low, 0L, out),
                 i >= in - 1 ? out : clamp((long)high + 1, 0L, out));
}

// Each input pixel asks the output pixels around it.
__kernel void resample_grad(__global TYPE(X) * in, long in0, __global const TYPE(X) * out,
                            long out0, long planes, long IH, long IW, long OH, long OW, float fy,
                            float fx, int mode, int corners) {
  for (long k = FIRST(planes * IH * IW); k < LAST(planes * IH * IW); k += STEP) {
    const long iy = k / IW % IH, ix = k % IW;
    const long2 ys = outputs_of(iy, IH, OH, fy, mode, corners);
    const long2 xs = outputs_of(ix, IW, OW, fx, mode, corners);
    ACC sum = 0;
    for (long oy = ys.x; oy < ys.y; ++oy) {
      const Taps y = taps_of(oy, IH, OH, fy, mode, corners);
      const ACC wy = weight_of(&y, iy);
      if (wy == 0) continue;
      for (long ox = xs.x; ox < xs.y; ++ox) {
        const Taps x = taps_of(ox, IW, OW, fx, mode, corners);
        const ACC wx = weight_of(&x, ix);
        if (wx != 0) sum += wy * wx * GET(X, out, out0 + (k / (IH * IW) * OH + oy) * OW + ox);
      }
    }
    PUT(X, in, in0 + k, sum);
  }
}
