// What a convolution needs around its matrix products. T: element type; images are
// (image, channel, y, x). Options for conv_bias_grad: ACC_NAME=float32, V, L.
#include "rows.cl"

typedef struct {
  long from_at, from[4], to_at;  // `to` is dense
  long channels, height, width;  // of `to`; images times channels times height rows in all
  long rows;
  long from_height, from_width;
  long above, left;  // zeros before the first row and column
} PadArgs;

static void pad_one(__global const TYPE(T) * from, __global TYPE(T) * to, const PadArgs* g,
                    long row, long x) {
  const long y = row % g->height, c = row / g->height % g->channels;
  const long b = row / g->height / g->channels, in_y = y - g->above, in_x = x - g->left;
  const bool inside =
      in_y >= 0 && in_y < g->from_height && in_x >= 0 && in_x < g->from_width;
  to[g->to_at + row * g->width + x] =
      inside ? from[g->from_at + b * g->from[0] + c * g->from[1] + in_y * g->from[2] +
                    in_x * g->from[3]]
             : 0;  // all bits, in every type
}

// Copies images into larger ones, with zeros around.
__kernel void conv_pad(__global const TYPE(T) * from, __global TYPE(T) * to, PadArgs g) {
#if DEVICE_IS_CPU
  for (long row = FIRST(g.rows); row < LAST(g.rows); row += STEP)
    for (long x = 0; x < g.width; ++x) pad_one(from, to, &g, row, x);
#else
  const long count = g.rows * g.width;
  for (long i = FIRST(count); i < LAST(count); i += STEP)
    pad_one(from, to, &g, i / g.width, i % g.width);
#endif
}

typedef struct {
  long grad_at, grad[4], bias_at, bias;
  long images, channels, height, width;
} BiasArgs;

// Sums of the output's gradient by channel. One channel a work-group.
__kernel void conv_bias_grad(__global const TYPE(T) * grad, __global TYPE(T) * bias, BiasArgs g) {
  GROUP_LOCAL(tmp);
  FOR_ROWS(c, g.channels) {
    float sum = 0;
    for (long b = 0; b < g.images; ++b) {
      float image = 0;  // sums of sums keep more digits
      for (long i = get_local_id(0); i < g.height * g.width; i += L)
        image += GET(T, grad, g.grad_at + b * g.grad[0] + c * g.grad[1] +
                                  i / g.width * g.grad[2] + i % g.width * g.grad[3]);
      sum += image;
    }
    sum = group_sum(sum, tmp);
    if (get_local_id(0) == 0) PUT(T, bias, g.bias_at + c * g.bias, sum);
  }
}

typedef struct {
  long to_at, to[4];
  long channels, height, width;
  long count, parts;
} SumArgs;

// Adds `parts` dense float32 tensors into one of T: the weight's gradient, summed in pieces.
__kernel void conv_sum_parts(__global const float* parts, __global TYPE(T) * to, SumArgs g) {
  for (long i = FIRST(g.count); i < LAST(g.count); i += STEP) {
    float sum = 0;
    for (long p = 0; p < g.parts; ++p) sum += parts[p * g.count + i];
    const long x = i % g.width, y = i / g.width % g.height;
    const long c = i / g.width / g.height % g.channels, o = i / g.width / g.height / g.channels;
    PUT(T, to, g.to_at + o * g.to[0] + c * g.to[1] + y * g.to[2] + x * g.to[3], sum);
  }
}
