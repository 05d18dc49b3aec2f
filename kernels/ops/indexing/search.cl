// Places in sorted sequences. X: dtype of the values and boundaries, Y: of the places. Operands are
// dense: boundaries (R, N), values (V, K); R is 1 or V.
#include "rows.cl"

// How many boundaries a value is above; at or above where `right`. By bisection, as in PyTorch, so
// that boundaries that are not sorted have the same result.
__kernel void search(__global const TYPE(X) * boundaries, long boundaries0,
                     __global const TYPE(X) * values, long values0, __global TYPE(Y) * out,
                     long out0, long R, long N, long count, long K, int right) {
  for (long i = FIRST(count); i < LAST(count); i += STEP) {
    const ACC v = GET(X, values, values0 + i);
    const long row = boundaries0 + (R == 1 ? 0 : i / K * N);
    long low = 0, high = N;
    while (low < high) {
      const long middle = low + (high - low) / 2;
      const ACC b = GET(X, boundaries, row + middle);
      const bool reached = right ? b > v : b >= v;
      if (reached) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    out[out0 + i] = (TYPE(Y))low;
  }
}
