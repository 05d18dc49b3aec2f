// Reading by index. T: an unsigned type of the element's size (elements are moved, not computed
// with). I: type of the indices. Operands are dense.
#include "rows.cl"

// Up to four index operands of J elements each; position = the flat index they make together.
// Unused ones repeat the first with extent 1.
#define INDEX_PARAMETERS                                                                     \
  __global const TYPE(I)*i0, long o0, __global const TYPE(I)*i1, long o1,                    \
      __global const TYPE(I)*i2, long o2, __global const TYPE(I)*i3, long o3, long e0, long e1, \
      long e2, long e3
#define POSITION(j)                                                             \
  (((in_range(i0[o0 + (j)], e0) * e1 + in_range(i1[o1 + (j)], e1)) * e2 +       \
    in_range(i2[o2 + (j)], e2)) * e3 + in_range(i3[o3 + (j)], e3))

// out[a, j, b] = self[a, position(j), b]; self is (A, E, B), out (A, J, B).
__kernel void read_rows(__global const T* self, long self0, __global T* out, long out0,
                        INDEX_PARAMETERS, long A, long E, long J, long B) {
#if L == 1
  FOR_ROWS(row, A* J) {
    __global const T* from = self + self0 + (row / J * E + POSITION(row % J)) * B;
    __global T* to = out + out0 + row * B;
    for (long b = 0; b < B; ++b) to[b] = from[b];
  }
#else
  for (long k = FIRST(A * J * B); k < LAST(A * J * B); k += STEP) {
    long row = k / B;
    out[out0 + k] = self[self0 + (row / J * E + POSITION(row % J)) * B + k % B];
  }
#endif
}

// out[o, j, i] = self[o, index[o, j, i], i]; self is (O, E, K), index and out (O, J, K).
__kernel void gather(__global const T* self, long self0, __global const TYPE(I)* index,
                     long index0, __global T* out, long out0, long O, long E, long J, long K) {
#if DEVICE_IS_CPU  // a work-item has neighbours one after another: no divisions but for the first
  long i = FIRST(O * J * K) % K, within = FIRST(O * J * K) % (J * K);
  __global const T* from = self + self0 + FIRST(O * J * K) / (J * K) * E * K;
  for (long k = FIRST(O * J * K); k < LAST(O * J * K); ++k) {
    out[out0 + k] = from[in_range(index[index0 + k], E) * K + i];
    i = i + 1 == K ? 0 : i + 1;
    if (++within == J * K) {
      within = 0;
      from += E * K;
    }
  }
#else
  for (long k = FIRST(O * J * K); k < LAST(O * J * K); k += STEP) {
    long row = in_range(index[index0 + k], E);
    out[out0 + k] = self[self0 + (k / (J * K) * E + row) * K + k % K];
  }
#endif
}

// Inclusive sums of the repeats (negative ones count as none), by one work-item.
__kernel void repeat_ends(__global const TYPE(I)* repeats, long repeats0, __global long* ends,
                          long ends0, long n) {
  long sum = 0;
  for (long i = 0; i < n; ++i) {
    sum += max((long)repeats[repeats0 + i], 0L);
    ends[ends0 + i] = sum;
  }
}
// out[k] = the first i with ends[i] > k; the last one where the recorded size exceeds the sum.
__kernel void repeat_sources(__global const long* ends, long ends0, __global long* out, long out0,
                             long n, long K) {
  for (long k = FIRST(K); k < LAST(K); k += STEP) {
    long low = 0, high = n - 1;
    while (low < high) {
      long middle = (low + high) / 2;
      if (ends[ends0 + middle] > k) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    out[out0 + k] = low;
  }
}
// out[k] = k / times.
__kernel void repeat_evenly(__global long* out, long out0, long K, long times) {
  for (long k = FIRST(K); k < LAST(K); k += STEP) out[out0 + k] = k / times;
}
