// Reductions of dense operands (outer, n, inner) over n. X: read, Y: written. inner == 1: row_*,
// one output a work-group; else col_*, V neighbouring outputs a work-item of a GPU, WIDE vectors of
// them a CPU's. n may be cut into segments of `segment` elements, each giving an output of its own:
// (outer, segments, inner); a second launch then reduces those.
#include "rows.cl"

// What is done to the total before it is stored.
#define FINISH_NONE 0
#define FINISH_MEAN 1   // total / count
#define FINISH_SQRT 2
#define FINISH_ROOT 3   // total ^ (1 / parameter)
#define FINISH_TRUTH 4  // total != 0

static ACC finish_total(ACC v, int finish, float parameter, long count) {
  switch (finish) {
#if !INTEGER_ACC
    case FINISH_MEAN:
      return v / count;
    case FINISH_SQRT:
      return sqrt(v);
    case FINISH_ROOT:
      return pow(v, (ACC)(1 / parameter));
#endif
    case FINISH_TRUTH:
      return v != 0;
    default:
      return v;
  }
}

#define TIMES(a, b) ((a) * (b))
#define KEEP(v) (v)
#define SQUARE(v) ((v) * (v))
#if INTEGER_ACC
#define MORE1(a, b) max(a, b)
#define MOREV(a, b) max(a, b)
#define LESS1(a, b) min(a, b)
#define LESSV(a, b) min(a, b)
#define LOWEST LONG_MIN
#define HIGHEST LONG_MAX
#else
// NaN wins, as in PyTorch. `b > a` is false for a NaN in either, `b != b` finds the one in b.
static ACC MORE1(ACC a, ACC b) { return b > a || b != b ? b : a; }
static VACC MOREV(VACC a, VACC b) { return select(a, b, (b > a) | (b != b)); }
static ACC LESS1(ACC a, ACC b) { return b < a || b != b ? b : a; }
static VACC LESSV(VACC a, VACC b) { return select(a, b, (b < a) | (b != b)); }
#define LOWEST (-INFINITY)
#define HIGHEST INFINITY
static ACC no_nan1(ACC v) { return v != v ? 0 : v; }
static VACC no_nanV(VACC v) { return select(v, (VACC)(0), v != v); }
#define POWER1(v) pow(fabs(v), (ACC)parameter)
#define POWERV(v) pow(fabs(v), (VACC)((ACC)parameter))
#endif

#if L > 1
#define LX 8
#else
// As in reduction_plan.cc: so many that memory is read in a row.
#define WIDE 64
#endif

// NEUTRAL: the neutral element; MAP1, MAPV: of one element (float `parameter` is in scope); OP1, OPV: combine
// scalars, vectors. (The name is put together here: further on it would be expanded, and max is a macro of PoCL's.)
#define DEFINE_REDUCTION(NAME, NEUTRAL, MAP1, MAPV, OP1, OPV)                                            \
  DEFINE_FOLD_IF_GROUPED(fold_##NAME, OP1)                                                      \
  __kernel void row_##NAME(__global const TYPE(X)* x, long x0, __global TYPE(Y)* y, long y0,    \
                           long outer, long n, long inner, long segment, long segments,         \
                           int finish, float parameter, long count) {                           \
    GROUP_LOCAL(tmp);                                                                           \
    FOR_ROWS(row, outer* segments) {                                                            \
      long begin = row % segments * segment;                                                    \
      long size = min(segment, n - begin);                                                      \
      __global const TYPE(X)* xr = x + x0 + row / segments * n + begin;                         \
      VACC wide = NEUTRAL;                                                                        \
      ACC total = NEUTRAL;                                                                        \
      FOR_VECTORS(i, size) wide = OPV(wide, MAPV(VGET(X, xr, i)));                              \
      FOR_TAIL(i, size) total = OP1(total, MAP1(GET(X, xr, i)));                                \
      total = OP1(FOLD(OP1, wide), total);                                                      \
      total = FOLD_IF_GROUPED(fold_##NAME, total, tmp);                                         \
      if (get_local_id(0) == 0) PUT(Y, y, y0 + row, finish_total(total, finish, parameter, count)); \
    }                                                                                           \
  }                                                                                             \
  DEFINE_COLUMNS(col_##NAME, NEUTRAL, MAP1, MAPV, OP1, OPV)

#if L > 1
#define DEFINE_COLUMNS(NAME, NEUTRAL, MAP1, MAPV, OP1, OPV)                                     \
  __kernel void NAME(__global const TYPE(X)* x, long x0, __global TYPE(Y)* y, long y0,    \
                           long outer, long n, long inner, long segment, long segments,         \
                           int finish, float parameter, long count) {                           \
    COLUMN_LOCAL(tmp);                                                                          \
    long chunks = (inner + LX * V - 1) / (LX * V);                                              \
    FOR_ROWS(unit, outer* segments* chunks) {                                                   \
      long row = unit / chunks;                                                                 \
      long c = (unit % chunks * LX + get_local_id(0) % LX) * V;                                 \
      long left = inner - c;                                                                    \
      long begin = row % segments * segment;                                                    \
      long end = min(begin + segment, n);                                                       \
      __global const TYPE(X)* xc = x + x0 + row / segments * n * inner + c;                     \
      VACC total = NEUTRAL;                                                                       \
      if (left >= V) {                                                                          \
        for (long r = begin + get_local_id(0) / LX; r < end; r += L / LX)                       \
          total = OPV(total, MAPV(VGET(X, xc, r * inner)));                                     \
      } else if (left > 0) {                                                                    \
        ACC lanes[V];                                                                           \
        for (int k = 0; k < V; ++k) lanes[k] = NEUTRAL;                                           \
        for (long r = begin + get_local_id(0) / LX; r < end; r += L / LX)                       \
          for (int k = 0; k < left; ++k)                                                        \
            lanes[k] = OP1(lanes[k], MAP1(GET(X, xc, r * inner + k)));                          \
        total = CAT(vload, V)(0, lanes);                                                        \
      }                                                                                         \
      FOLD_COLUMNS(total, OPV, tmp);                                                            \
      if (get_local_id(0) < LX) {                                                               \
        ACC lanes[V];                                                                           \
        CAT(vstore, V)(total, 0, lanes);                                                        \
        for (int k = 0; k < V && k < left; ++k)                                                 \
          PUT(Y, y, y0 + row * inner + c + k, finish_total(lanes[k], finish, parameter, count)); \
      }                                                                                         \
    }                                                                                           \
  }
#define DEFINE_FOLD_IF_GROUPED(NAME, OP) DEFINE_GROUP_FOLD(NAME, OP)
#define FOLD_IF_GROUPED(NAME, v, tmp) NAME(v, tmp)
#define COLUMN_LOCAL(tmp) __local VACC tmp[L]
#define FOLD_COLUMNS(v, OP, tmp)                                             \
  barrier(CLK_LOCAL_MEM_FENCE);                                              \
  tmp[get_local_id(0)] = v;                                                  \
  barrier(CLK_LOCAL_MEM_FENCE);                                              \
  for (uint rows = L / LX / 2; rows > 0; rows /= 2) {                        \
    uint lid = get_local_id(0);                                              \
    if (lid < rows * LX) tmp[lid] = OP(tmp[lid], tmp[lid + rows * LX]);      \
    barrier(CLK_LOCAL_MEM_FENCE);                                            \
  }                                                                          \
  v = tmp[get_local_id(0) % LX]
#else
#define DEFINE_COLUMNS(NAME, NEUTRAL, MAP1, MAPV, OP1, OPV)                                     \
  __kernel void NAME(__global const TYPE(X)* x, long x0, __global TYPE(Y)* y, long y0,    \
                           long outer, long n, long inner, long segment, long segments,         \
                           int finish, float parameter, long count) {                           \
    ACC totals[WIDE * V];                                                                       \
    const long chunks = (inner + WIDE * V - 1) / (WIDE * V);                                    \
    FOR_ROWS(unit, outer* segments* chunks) {                                                   \
      const long row = unit / chunks;                                                           \
      const long c = unit % chunks * (WIDE * V);                                                \
      const int columns = (int)min(inner - c, (long)WIDE * V), whole = columns / V * V;         \
      const long begin = row % segments * segment;                                              \
      const long end = min(begin + segment, n);                                                 \
      __global const TYPE(X)* xr = x + x0 + (row / segments * n + begin) * inner + c;           \
      for (int k = 0; k < columns; ++k) totals[k] = NEUTRAL;                                    \
      for (long r = begin; r < end; ++r, xr += inner) {                                         \
        for (int k = 0; k < whole; k += V) {                                                    \
          FETCH(xr, AHEAD + k);                                                                 \
          const VACC total = CAT(vload, V)(0, totals + k);                                      \
          CAT(vstore, V)(OPV(total, MAPV(VGET(X, xr, k))), 0, totals + k);                      \
        }                                                                                       \
        for (int k = whole; k < columns; ++k) totals[k] = OP1(totals[k], MAP1(GET(X, xr, k)));  \
      }                                                                                         \
      for (int k = 0; k < columns; ++k)                                                         \
        PUT(Y, y, y0 + row * inner + c + k, finish_total(totals[k], finish, parameter, count)); \
    }                                                                                           \
  }
#define DEFINE_FOLD_IF_GROUPED(NAME, OP)
#define FOLD_IF_GROUPED(NAME, v, tmp) (v)
#endif

#define TRUTH1(v) ((ACC)((v) != 0))
#define TRUTHV(v) (-TO_VACC((v) != 0))

// The one that is wanted, -DREDUCTION=REDUCTION_sum: a program of all of them takes a CPU seconds to compile.
#define REDUCTION_sum(DEFINE) DEFINE(sum, 0, KEEP, KEEP, PLUS, PLUS)
#define REDUCTION_prod(DEFINE) DEFINE(prod, 1, KEEP, KEEP, TIMES, TIMES)
#define REDUCTION_max(DEFINE) DEFINE(max, LOWEST, KEEP, KEEP, MORE1, MOREV)
#define REDUCTION_min(DEFINE) DEFINE(min, HIGHEST, KEEP, KEEP, LESS1, LESSV)
#define REDUCTION_count_true(DEFINE) DEFINE(count_true, 0, TRUTH1, TRUTHV, PLUS, PLUS)
#define REDUCTION_all_true(DEFINE) DEFINE(all_true, 1, TRUTH1, TRUTHV, LESS1, LESSV)
#if !INTEGER_ACC
#define REDUCTION_max_abs(DEFINE) DEFINE(max_abs, 0, fabs, fabs, MORE1, MOREV)
#define REDUCTION_min_abs(DEFINE) DEFINE(min_abs, HIGHEST, fabs, fabs, LESS1, LESSV)
#define REDUCTION_sum_square(DEFINE) DEFINE(sum_square, 0, SQUARE, SQUARE, PLUS, PLUS)
#define REDUCTION_sum_abs(DEFINE) DEFINE(sum_abs, 0, fabs, fabs, PLUS, PLUS)
#define REDUCTION_sum_power(DEFINE) DEFINE(sum_power, 0, POWER1, POWERV, PLUS, PLUS)
#define REDUCTION_sum_no_nan(DEFINE) DEFINE(sum_no_nan, 0, no_nan1, no_nanV, PLUS, PLUS)
#endif
REDUCTION(DEFINE_REDUCTION)
