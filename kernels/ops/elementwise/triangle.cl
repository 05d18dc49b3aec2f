// One half of matrices: elements above (or below) a diagonal become zeros. T: an unsigned type of
// the element's size; in any dtype zero is no bit set. Operands are dense, (batch, m, n).
#include "rows.cl"

__kernel void triangle(__global const T* self, long self0, __global T* out, long out0, long B,
                       long M, long N, long diagonal, int upper) {
  for (long row = FIRST(B * M); row < LAST(B * M); row += STEP) {
    // Columns [0, edge) are below the diagonal or on its lower side.
    long edge = clamp(row % M + diagonal + (upper ? 0L : 1L), 0L, N);
    for (long j = 0; j < N; ++j) {
      bool keep = upper ? j >= edge : j < edge;
      out[out0 + row * N + j] = keep ? self[self0 + row * N + j] : (T)0;
    }
  }
}
