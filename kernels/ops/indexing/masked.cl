// By mask. T: an unsigned type of the element's size (elements are moved, not computed with), I: the
// mask's dtype. Operands are dense. The n elements of a mask are taken in `chunks` pieces: each
// counts its own, and then starts where those before it end.
#include "rows.cl"

#define CHUNK(c)                                                                   \
  const long size = (n + chunks - 1) / chunks, begin = min(n, c * size), end = min(n, begin + size)

__kernel void count_true(__global const TYPE(I) * mask, long mask0, __global long* counts,
                         long counts0, long n, long chunks) {
  for (long c = FIRST(chunks); c < LAST(chunks); c += STEP) {
    CHUNK(c);
    long count = 0;
    for (long i = begin; i < end; ++i) count += LOAD(I)(mask, mask0 + i) != 0;
    counts[counts0 + c] = count;
  }
}

// Row-major positions where the mask is not zero, in order; with `dims` above 0 as coordinates, K
// rows of `dims`. Exactly K are written: what the mask has no element for is zero.
__kernel void find_true(__global const TYPE(I) * mask, long mask0, __global const long* counts,
                        long counts0, __global long* out, long out0, long n, long chunks, long K,
                        int dims, long d0, long d1, long d2, long d3) {
  const long extents[4] = {d0, d1, d2, d3};
  for (long c = FIRST(chunks); c < LAST(chunks); c += STEP) {
    CHUNK(c);
    long k = 0;
    for (long before = 0; before < c; ++before) k += counts[counts0 + before];
    for (long i = begin; i < end && k < K; ++i) {
      if (LOAD(I)(mask, mask0 + i) == 0) continue;
      long rest = i;
      for (int d = dims - 1; d >= 0; --d) {
        out[out0 + k * dims + d] = rest % extents[d];
        rest /= extents[d];
      }
      if (dims == 0) out[out0 + k] = i;
      ++k;
    }
    if (c == chunks - 1)
      for (long j = k * max(dims, 1); j < K * max(dims, 1); ++j) out[out0 + j] = 0;
  }
}

// target[i] = the next of K values where the mask is not zero; the last one again if they run out.
__kernel void put_where_true(__global const TYPE(I) * mask, long mask0,
                             __global const long* counts, long counts0, __global const T* values,
                             long values0, __global T* target, long target0, long n, long chunks,
                             long K) {
  for (long c = FIRST(chunks); c < LAST(chunks); c += STEP) {
    CHUNK(c);
    long k = 0;
    for (long before = 0; before < c; ++before) k += counts[counts0 + before];
    for (long i = begin; i < end; ++i)
      if (LOAD(I)(mask, mask0 + i) != 0) target[target0 + i] = values[values0 + min(k++, K - 1)];
  }
}
