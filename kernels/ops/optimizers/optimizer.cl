// Fused optimizers, one launch a parameter tensor. X: parameter, gradient and states; S: the step
// count. Operands are dense.
#include "rows.cl"

#define DECOUPLED 1  // AdamW: the decay acts on the parameter, not on the gradient
#define AMSGRAD 2
#define MAXIMIZE 4
#define NESTEROV 8
#define IS_FIRST_STEP 16
#define HAS_MOMENTUM 32
#define HAS_SCALE 64      // gradients are divided by it, and stored so
#define HAS_FOUND_INF 128  // a non-zero one skips the update
#define TENSOR_RATE 256

// Gradient i as the update uses it.
static ACC gradient_at(__global TYPE(X)* grad, long i, ACC scale, int flags) {
  ACC g = GET(X, grad, i);
  if (flags & HAS_SCALE) {
    g /= scale;
    PUT(X, grad, i, g);
  }
  return flags & MAXIMIZE ? -g : g;
}

// `log_beta1` and `log_beta2` give 1 - beta^step without cancellation. Steps below 1 (an optimizer
// that never stepped has no defined update) count as 1.
__kernel void adam(__global TYPE(X)* param, long param0, __global TYPE(X)* grad, long grad0,
                   __global TYPE(X)* m, long m0, __global TYPE(X)* v, long v0,
                   __global TYPE(X)* v_max, long v_max0, __global const TYPE(S)* step, long step0,
                   __global const float* rate, long rate0, __global const float* scale, long scale0,
                   __global const float* found_inf, long found_inf0, long n, float lr, float beta1,
                   float one_minus_beta1, float beta2, float one_minus_beta2, float log_beta1,
                   float log_beta2, float decay, float eps, int flags) {
  if ((flags & HAS_FOUND_INF) && found_inf[found_inf0] != 0) return;
  ACC eta = flags & TENSOR_RATE ? rate[rate0] : lr;
  ACC divisor = flags & HAS_SCALE ? scale[scale0] : 1;
  ACC steps = fmax(GET(S, step, step0), (ACC)1);
  ACC step_size = eta / -expm1(steps * (ACC)log_beta1);
  ACC spread = sqrt(-expm1(steps * (ACC)log_beta2));
  param += param0;
  m += m0;
  v += v0;
  long i = FIRST(n);
#if DEVICE_IS_CPU
  // What nearly all training does, in vectors: compilers do not see that the operands are apart.
  if ((flags & ~(DECOUPLED | TENSOR_RATE)) == 0) {
    const ACC keep = flags & DECOUPLED ? 1 - eta * decay : 1, l2 = flags & DECOUPLED ? 0 : decay;
    for (; i + V <= LAST(n); i += V) {
      const VACC p = VGET(X, param, i);
      const VACC g = VGET(X, grad, grad0 + i) + l2 * p;
      const VACC mean = VGET(X, m, i) * beta1 + g * one_minus_beta1;
      const VACC square = VGET(X, v, i) * beta2 + g * g * one_minus_beta2;
      VPUT(X, m, i, mean);
      VPUT(X, v, i, square);
      VPUT(X, param, i, keep * p - step_size * mean / (sqrt(square) / spread + (ACC)eps));
    }
  }
#endif
  for (; i < LAST(n); i += STEP) {
    ACC p = GET(X, param, i);
    ACC g = gradient_at(grad, grad0 + i, divisor, flags);
    if (flags & DECOUPLED) {
      p -= eta * decay * p;
    } else {
      g += decay * p;
    }
    ACC mean = GET(X, m, i) * beta1 + g * one_minus_beta1;
    ACC square = GET(X, v, i) * beta2 + g * g * one_minus_beta2;
    PUT(X, m, i, mean);
    PUT(X, v, i, square);
    if (flags & AMSGRAD) {
      square = fmax(GET(X, v_max, v_max0 + i), square);
      PUT(X, v_max, v_max0 + i, square);
    }
    PUT(X, param, i, p - step_size * mean / (sqrt(square) / spread + (ACC)eps));
  }
}

__kernel void sgd(__global TYPE(X)* param, long param0, __global TYPE(X)* grad, long grad0,
                  __global TYPE(X)* momentum_buffer, long momentum0, __global const float* rate,
                  long rate0, __global const float* scale, long scale0,
                  __global const float* found_inf, long found_inf0, long n, float lr,
                  float momentum, float one_minus_dampening, float decay, int flags) {
  if ((flags & HAS_FOUND_INF) && found_inf[found_inf0] != 0) return;
  ACC eta = flags & TENSOR_RATE ? rate[rate0] : lr;
  ACC divisor = flags & HAS_SCALE ? scale[scale0] : 1;
  param += param0;
  for (long i = FIRST(n); i < LAST(n); i += STEP) {
    ACC p = GET(X, param, i);
    ACC g = gradient_at(grad, grad0 + i, divisor, flags) + decay * p;
    if (flags & HAS_MOMENTUM) {
      ACC b = flags & IS_FIRST_STEP
                  ? g
                  : GET(X, momentum_buffer, momentum0 + i) * momentum + g * one_minus_dampening;
      PUT(X, momentum_buffer, momentum0 + i, b);
      g = flags & NESTEROV ? g + momentum * b : b;
    }
    PUT(X, param, i, p - eta * g);
  }
}

// Gradient scaling: x *= inv_scale; found_inf becomes 1 if any x was not finite.
__kernel void unscale(__global TYPE(X)* x, long x0, __global float* found_inf, long found_inf0,
                      __global const float* inv_scale, long inv_scale0, long n) {
  ACC factor = inv_scale[inv_scale0];
  for (long i = FIRST(n); i < LAST(n); i += STEP) {
    ACC v = GET(X, x, x0 + i);
    if (!isfinite(v)) found_inf[found_inf0] = 1;
    PUT(X, x, x0 + i, v * factor);
  }
}

__kernel void update_scale(__global float* scale, long scale0, __global int* tracker, long tracker0,
                           __global const float* found_inf, long found_inf0, float growth,
                           float backoff, int interval) {
  if (get_global_id(0) != 0) return;  // a launch of one item has a whole work-group
  if (found_inf[found_inf0] != 0) {
    scale[scale0] *= backoff;
    tracker[tracker0] = 0;
  } else if (++tracker[tracker0] == interval) {
    if (isfinite(scale[scale0] * growth)) scale[scale0] *= growth;
    tracker[tracker0] = 0;
  }
}
