// Losses. X: predictions and results, I: class targets. Operands are dense.
#include "rows.cl"

#define REDUCE_NONE 0
#define REDUCE_MEAN 1
#define REDUCE_SUM 2

// Predictions are (N, classes, S), targets (N, S); rows = N * S. One work-group.
__kernel void nll_loss(__global const TYPE(X)* x, long x0, __global const TYPE(I)* target,
                       long target0, __global const TYPE(X)* weight, long weight0,
                       __global TYPE(X)* out, long out0, __global TYPE(X)* total, long total0,
                       long rows, long classes, long S, long ignore, int has_weight,
                       int reduction) {
  GROUP_LOCAL(tmp);
  ACC sum = 0, weights = 0;
  for (long row = get_local_id(0); row < rows; row += L) {
    long t = target[target0 + row];
    ACC w = 0, loss = 0;
    if (t != ignore) {
      t = in_range(t, classes);
      w = has_weight ? GET(X, weight, weight0 + t) : 1;
      loss = -w * GET(X, x, x0 + (row / S * classes + t) * S + row % S);
    }
    if (reduction == REDUCE_NONE) PUT(X, out, out0 + row, loss);
    sum += loss;
    weights += w;
  }
  if (reduction == REDUCE_NONE) {
    sum = 0;
    weights = 0;
  }
  sum = group_sum(sum, tmp);
  weights = group_sum(weights, tmp);
  if (get_local_id(0) != 0) return;
  if (reduction != REDUCE_NONE)
    PUT(X, out, out0, reduction == REDUCE_MEAN ? sum / weights : sum);
  PUT(X, total, total0, weights);
}

// Images are (classes, S); the gradient is zero but at the targets.
__kernel void nll_loss_backward(__global const TYPE(X)* g, long g0, __global const TYPE(I)* target,
                                long target0, __global const TYPE(X)* weight, long weight0,
                                __global const TYPE(X)* total, long total0, __global TYPE(X)* dx,
                                long dx0, long images, long classes, long S, long ignore,
                                int has_weight, int reduction) {
  FOR_ROWS(image, images) {
    __global TYPE(X)* d = dx + dx0 + image * classes * S;
    FOR_VECTORS(i, classes * S) VPUT(X, d, i, (VACC)(0));
    FOR_TAIL(i, classes * S) PUT(X, d, i, (ACC)0);
    if (L > 1) barrier(CLK_GLOBAL_MEM_FENCE);
    for (long s = get_local_id(0); s < S; s += L) {
      long row = image * S + s, t = target[target0 + row];
      if (t == ignore) continue;
      t = in_range(t, classes);
      ACC v = has_weight ? -GET(X, weight, weight0 + t) : -1;
      v *= GET(X, g, g0 + (reduction == REDUCE_NONE ? row : 0));
      if (reduction == REDUCE_MEAN) v /= GET(X, total, total0);
      PUT(X, d, t * S + s, v);
    }
  }
}

#define MSE 0
#define L1 1
#define SMOOTH_L1 2            // parameter: beta
#define HUBER 3                // parameter: delta
#define CROSS_ENTROPY 4        // binary, of probabilities
#define CROSS_ENTROPY_LOGITS 5

static ACC loss_of(int kind, ACC x, ACC t, ACC positive, ACC parameter) {
  ACC d = fabs(x - t);
  switch (kind) {
    case MSE:
      return d * d;
    case L1:
      return d;
    case SMOOTH_L1:
      return d < parameter ? d * d / 2 / parameter : d - parameter / 2;
    case HUBER:
      return d <= parameter ? d * d / 2 : parameter * (d - parameter / 2);
    case CROSS_ENTROPY:  // PyTorch clamps the logarithms at -100
      return (t - 1) * fmax(log(1 - x), (ACC)-100) - t * fmax(log(x), (ACC)-100);
    default:
      return (1 - t) * x + (1 + (positive - 1) * t) * (log1p(exp(-fabs(x))) + fmax(-x, (ACC)0));
  }
}

static ACC slope_of(int kind, ACC x, ACC t, ACC parameter) {
  ACC d = x - t;
  switch (kind) {
    case MSE:
      return 2 * d;
    case SMOOTH_L1:
      return fabs(d) < parameter ? d / parameter : sign(d);
    case HUBER:
      return clamp(d, -parameter, parameter);
    default:
      return d / fmax((1 - x) * x, (ACC)1e-12f);
  }
}

#define LOSS_AT(i)                                                                    \
  (loss_of(kind, GET(X, x, x0 + (i)), GET(X, t, t0 + (i)),                            \
           has_positive ? GET(X, positive, positive0 + (i)) : 1, (ACC)parameter) *    \
   (has_weight ? GET(X, weight, weight0 + (i)) : 1))

__kernel void loss_each(__global const TYPE(X)* x, long x0, __global const TYPE(X)* t, long t0,
                        __global const TYPE(X)* weight, long weight0,
                        __global const TYPE(X)* positive, long positive0, __global TYPE(X)* out,
                        long out0, long n, int kind, float parameter, int has_weight,
                        int has_positive) {
  for (long i = FIRST(n); i < LAST(n); i += STEP) PUT(X, out, out0 + i, LOSS_AT(i));
}

// One partial sum a work-group; reduction.cl adds them up.
__kernel void loss_sums(__global const TYPE(X)* x, long x0, __global const TYPE(X)* t, long t0,
                        __global const TYPE(X)* weight, long weight0,
                        __global const TYPE(X)* positive, long positive0, __global ACC* sums,
                        long sums0, long n, int kind, float parameter, int has_weight,
                        int has_positive) {
  GROUP_LOCAL(tmp);
  ACC sum = 0;
  for (long i = FIRST(n); i < LAST(n); i += STEP) sum += LOSS_AT(i);
  sum = group_sum(sum, tmp);
  if (get_local_id(0) == 0) sums[sums0 + get_group_id(0)] = sum;
}

// dx = slope * g * weight / count; g is one number if g_step is 0.
__kernel void loss_backward(__global const TYPE(X)* g, long g0, int g_step,
                            __global const TYPE(X)* x, long x0, __global const TYPE(X)* t, long t0,
                            __global const TYPE(X)* weight, long weight0, __global TYPE(X)* dx,
                            long dx0, long n, long count, int kind, float parameter,
                            int has_weight) {
  for (long i = FIRST(n); i < LAST(n); i += STEP) {
    ACC v = slope_of(kind, GET(X, x, x0 + i), GET(X, t, t0 + i), (ACC)parameter);
    v *= GET(X, g, g0 + i * g_step);
    if (has_weight) v *= GET(X, weight, weight0 + i);
    PUT(X, dx, dx0 + i, v / count);
  }
}
