// Rows of attention scores between its matrix products. Scores of head z are a dense matrix of
// `queries` rows of `keys` float32; z = h + heads b counts the heads of this launch.
// Options: ACC_NAME=float32, V, L; T: type of the output and its gradient; MASK: type of the mask.
#include "rows.cl"
#include "random_bits.cl"

typedef struct {
  long rows, heads, queries, keys;
  long lse_at, lse[3];    // by b, h, query
  long mask_at, mask[4];  // by b, h, query, key; broadcast dimensions have stride 0
  long out_at, out[4];    // by b, h, query, feature
  long grad_at, grad[4];
  long features;
  long all_heads, first_batch, first_head;  // where this launch's heads are among all
  ulong seed;                               // of dropout
  // Causal: a query sees the keys up to its number + shift, of these the last `window`; 0: all.
  long shift, window;
  int causal, has_mask, has_lse;
  float dropout;
} AttentionArgs;

#define LARGER(a, b) fmax(a, b)
#if L > 1
DEFINE_GROUP_FOLD(group_max, LARGER)
#else
#define group_max(v, tmp) (v)
#endif

// Keys that a query sees, and those before its window.
static long seen(const AttentionArgs* g, long query) {
  return g->causal ? min(g->keys, query + 1 + g->shift) : g->keys;
}

// True masks let a key through, others are added.
#define MASK_IS_BOOL CAT(MASK_IS_, MASK)
#define MASK_IS_bool 1
static void add_mask(__global float* s, __global const TYPE(MASK) * mask, long at, long step,
                     long n) {
  for (long i = get_local_id(0); i < n; i += L) {
#if MASK_IS_BOOL
    if (!mask[at + i * step]) s[i] = -INFINITY;
#else
    s[i] += GET(MASK, mask, at + i * step);
#endif
  }
}

#if L > 1
#define ROW_BARRIER barrier(CLK_GLOBAL_MEM_FENCE);
#else
#define ROW_BARRIER
#endif

// The masked scores of row `row`. The first `n` keys count; up to `width` the row is filled with
// minus infinity, so that (nearly) all of it is done by vectors.
#define ROW_OF_SCORES(scores)                                                                \
  const long z = row / g.queries, query = row % g.queries, b = z / g.heads, h = z % g.heads; \
  const long n = seen(&g, query), width = min(g.keys, (n + V - 1) / V * V);                  \
  __global float* s = scores + row * g.keys;                                                 \
  if (g.has_mask)                                                                            \
    add_mask(s, mask, g.mask_at + b * g.mask[0] + h * g.mask[1] + query * g.mask[2],         \
             g.mask[3], n);                                                                  \
  for (long i = n + get_local_id(0); i < width; i += L) s[i] = -INFINITY;                    \
  for (long i = get_local_id(0); g.window > 0 && i < n - g.window; i += L) s[i] = -INFINITY; \
  ROW_BARRIER

// What dropout multiplies the probability of (z's b and h, query, key) with: element by element of
// (batch, heads, queries, keys), the same forward and backward.
static float kept(const AttentionArgs* g, long b, long h, long query, long key) {
  const long head = (g->first_batch + b) * g->all_heads + g->first_head + h;
  const ulong bits = random_half(g->seed, (head * g->queries + query) * g->keys + key);
  return unit(bits) >= g->dropout ? 1 / (1 - g->dropout) : 0;
}

// Scores to probabilities. A row without any key becomes zeros.
__kernel void attention_softmax(__global float* scores, __global const TYPE(MASK) * mask,
                                __global float* lse, AttentionArgs g) {
  GROUP_LOCAL(tmp);
  FOR_ROWS(row, g.rows) {
    ROW_OF_SCORES(scores)
    VACC wide = -INFINITY;
    ACC tail = -INFINITY;
    FOR_VECTORS(i, width) wide = fmax(wide, VGET(float32, s, i));
    FOR_TAIL(i, width) tail = fmax(tail, s[i]);
    const float most = group_max(fmax(FOLD(LARGER, wide), tail), tmp);
    const float shift = most == -INFINITY ? 0 : most;
    wide = 0;
    tail = 0;
    FOR_VECTORS(i, width) {
      const VACC e = exp(VGET(float32, s, i) - shift);
      VPUT(float32, s, i, e);
      wide += e;
    }
    FOR_TAIL(i, width) {
      const float e = exp(s[i] - shift);
      s[i] = e;
      tail += e;
    }
    const float sum = group_sum(FOLD(PLUS, wide) + tail, tmp);
    const float factor = sum == 0 ? 0 : 1 / sum;
    FOR_VECTORS(i, width) VPUT(float32, s, i, VGET(float32, s, i) * factor);
    FOR_TAIL(i, width) s[i] *= factor;
    ROW_BARRIER
    if (g.dropout > 0)
      for (long i = get_local_id(0); i < n; i += L) s[i] *= kept(&g, b, h, query, i);
    for (long i = width + get_local_id(0); i < g.keys; i += L) s[i] = 0;
    if (g.has_lse && get_local_id(0) == 0)
      lse[g.lse_at + b * g.lse[0] + h * g.lse[1] + query * g.lse[2]] = shift + log(sum);
  }
}

// Scores to probabilities by the saved logsumexp; gradients of probabilities to those of scores:
// dS = P (dP - sum_j P dP), where the sum is dO . O (Dao et al., FlashAttention, appendix B). What
// dropout multiplied P with, it multiplies dP with, and P again for the values' gradient.
__kernel void attention_scores_grad(__global float* scores, __global float* grads,
                                    __global const TYPE(MASK) * mask, __global const float* lse,
                                    __global const TYPE(T) * out, __global const TYPE(T) * out_grad,
                                    AttentionArgs g) {
  GROUP_LOCAL(tmp);
  FOR_ROWS(row, g.rows) {
    ROW_OF_SCORES(scores)
    const long o = g.out_at + b * g.out[0] + h * g.out[1] + query * g.out[2];
    const long w = g.grad_at + b * g.grad[0] + h * g.grad[1] + query * g.grad[2];
    ACC dot = 0;
    for (long i = get_local_id(0); i < g.features; i += L)
      dot += GET(T, out, o + i * g.out[3]) * GET(T, out_grad, w + i * g.grad[3]);
    dot = group_sum(dot, tmp);
    const float shift = lse[g.lse_at + b * g.lse[0] + h * g.lse[1] + query * g.lse[2]];
    const bool empty = shift == -INFINITY;
    __global float* d = grads + row * g.keys;
    for (long i = n + get_local_id(0); i < width; i += L) d[i] = 0;  // was not computed
    ROW_BARRIER
    if (g.dropout > 0) {
      for (long i = get_local_id(0); i < width; i += L) {
        const float p = empty ? 0 : exp(s[i] - shift);
        const float m = kept(&g, b, h, query, i);
        s[i] = p * m;
        d[i] = p * (d[i] * m - dot);
      }
    } else {
      FOR_VECTORS(i, width) {
        const VACC p = empty ? (VACC)0 : exp(VGET(float32, s, i) - shift);
        VPUT(float32, s, i, p);
        VPUT(float32, d, i, p * (VGET(float32, d, i) - dot));
      }
      FOR_TAIL(i, width) {
        const float p = empty ? 0 : exp(s[i] - shift);
        s[i] = p;
        d[i] = p * (d[i] - dot);
      }
    }
    for (long i = width + get_local_id(0); i < g.keys; i += L) s[i] = d[i] = 0;
  }
}
