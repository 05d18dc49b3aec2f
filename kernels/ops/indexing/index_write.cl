// Writing by index. X: elements, I: indices. Operands are dense. Results do not depend on how
// work-items are scheduled: each target element belongs to one work-item, which takes the sources
// in order, so that sums are reproducible and the last of equal indices wins.
#include "rows.cl"

#define WRITE_SET 0
#define WRITE_ADD 1
#define WRITE_MULTIPLY 2

static ACC combined(ACC old, ACC v, int mode) {
  return mode == WRITE_ADD ? old + v : mode == WRITE_MULTIPLY ? old * v : v;
}

#define INDEX_PARAMETERS                                                                     \
  __global const TYPE(I)*i0, long o0, __global const TYPE(I)*i1, long o1,                    \
      __global const TYPE(I)*i2, long o2, __global const TYPE(I)*i3, long o3, long e0, long e1, \
      long e2, long e3
#define POSITION(j)                                                             \
  (((in_range(i0[o0 + (j)], e0) * e1 + in_range(i1[o1 + (j)], e1)) * e2 +       \
    in_range(i2[o2 + (j)], e2)) * e3 + in_range(i3[o3 + (j)], e3))

// target[a, position(j), b] = combined(it, alpha * values[a, j, b]); target is (A, E, B), values
// (A, J, B). A work-group owns `block` rows of E and goes through all J indices. `skip`: a position
// that is left alone (an embedding's padding row), or -1. `clear`: the target starts from zero.
__kernel void write_rows(__global TYPE(X)* target, long target0, __global const TYPE(X)* values,
                         long values0, INDEX_PARAMETERS, long A, long E, long J, long B,
                         long block, long skip, float alpha, int mode, int clear) {
  long blocks = (E + block - 1) / block;
  FOR_ROWS(unit, A* blocks) {
    long a = unit / blocks, begin = unit % blocks * block, end = min(begin + block, E);
    __global TYPE(X)* out = target + target0 + a * E * B;
    if (clear)
      for (long k = begin * B + get_local_id(0); k < end * B; k += L) PUT(X, out, k, (ACC)0);
    // Each work-item clears elements that others add to.
    if (L > 1) barrier(CLK_GLOBAL_MEM_FENCE);
    for (long j = 0; j < J; ++j) {
      long at = POSITION(j);
      if (at < begin || at >= end || at == skip) continue;
      __global TYPE(X)* to = out + at * B;
      __global const TYPE(X)* from = values + values0 + (a * J + j) * B;
      if (mode == WRITE_ADD) {
        FOR_VECTORS(b, B) VPUT(X, to, b, VGET(X, to, b) + VGET(X, from, b) * (ACC)alpha);
        FOR_TAIL(b, B) PUT(X, to, b, GET(X, to, b) + GET(X, from, b) * (ACC)alpha);
      } else {
        for (long b = get_local_id(0); b < B; b += L)
          PUT(X, to, b, combined(GET(X, to, b), GET(X, from, b) * (ACC)alpha, mode));
      }
    }
  }
}

// target[o, index[o, j, k], k] = combined(it, source[o, j, k] or value); target is (O, E, K), index
// and source (O, J, K). A work-item owns a column.
__kernel void scatter(__global TYPE(X)* target, long target0, __global const TYPE(I)* index,
                      long index0, __global const TYPE(X)* source, long source0, int has_source,
                      float value, long O, long E, long J, long K, int mode) {
  for (long column = FIRST(O * K); column < LAST(O * K); column += STEP) {
    long o = column / K, k = column % K;
    for (long j = 0; j < J; ++j) {
      long from = (o * J + j) * K + k;
      long to = target0 + (o * E + in_range(index[index0 + from], E)) * K + k;
      ACC v = has_source ? GET(X, source, source0 + from) : (ACC)value;
      PUT(X, target, to, combined(GET(X, target, to), v, mode));
    }
  }
}

// count of the n items whose CLASS(i) is c, in each class from begin to end. On a CPU one pass counts
// them all in place.
#if L == 1
#define COUNT_CLASSES(CLASS, ADD, SET)                  \
  for (long c = begin; c < end; ++c) SET(c, 0);         \
  for (long i = 0; i < n; ++i) {                        \
    long c = CLASS(i);                                  \
    if (c >= begin && c < end) ADD(c);                  \
  }
#else
#define COUNT_CLASSES(CLASS, ADD, SET)                              \
  __local int partial[L];                                           \
  for (long c = begin; c < end; ++c) {                              \
    int count = 0;                                                  \
    for (long i = get_local_id(0); i < n; i += L) count += CLASS(i) == c; \
    uint lid = get_local_id(0);                                     \
    barrier(CLK_LOCAL_MEM_FENCE);                                   \
    partial[lid] = count;                                           \
    barrier(CLK_LOCAL_MEM_FENCE);                                   \
    for (uint half_size = L / 2; half_size > 0; half_size /= 2) {   \
      if (lid < half_size) partial[lid] += partial[lid + half_size]; \
      barrier(CLK_LOCAL_MEM_FENCE);                                 \
    }                                                               \
    if (lid == 0) SET(c, partial[0]);                               \
  }
#endif

// counts[c] = how many of n indices are c; a work-group owns `block` classes.
#define INDEX_CLASS(i) in_range(index[index0 + (i)], classes)
#define ADD_COUNT(c) ++counts[counts0 + (c)]
#define SET_COUNT(c, count) counts[counts0 + (c)] = (count)
__kernel void histogram(__global const TYPE(I)* index, long index0, __global long* counts,
                        long counts0, long n, long classes, long block) {
  long begin = (long)get_group_id(0) * block, end = min(classes, begin + block);
  COUNT_CLASSES(INDEX_CLASS, ADD_COUNT, SET_COUNT)
}

// The number of the part of [low, high] that a value lies in, of equal ones; -1: outside.
static long part_of(ACC v, float low, float high, long parts) {
  return v >= low && v <= high ? min((long)((v - low) * parts / (high - low)), parts - 1) : -1;
}

// counts[c] = how many of n values lie in part c; a work-group owns `block` parts.
#define PART_CLASS(i) part_of(GET(X, values, values0 + (i)), low, high, parts)
#define ADD_PART(c) PUT(X, counts, counts0 + (c), GET(X, counts, counts0 + (c)) + 1)
#define SET_PART(c, count) PUT(X, counts, counts0 + (c), (ACC)(count))
__kernel void parts_of_range(__global const TYPE(X)* values, long values0, __global TYPE(X)* counts,
                             long counts0, long n, float low, float high, long parts, long block) {
  long begin = (long)get_group_id(0) * block, end = min(parts, begin + block);
  COUNT_CLASSES(PART_CLASS, ADD_PART, SET_PART)
}
