// Largest or smallest element of dense operands (outer, n, inner) over n, and where it is.
#include "rows.cl"

// The first of equal ones wins, and NaN wins over all numbers, as in PyTorch.
static bool goes_before(ACC a, long a_at, ACC b, long b_at, int largest) {
  bool a_nan = IS_NAN(a), b_nan = IS_NAN(b);
  if (a_nan || b_nan) return a_nan && (!b_nan || a_at < b_at);
  if (a == b) return a_at < b_at;
  return largest ? a > b : a < b;
}

__kernel void extremum(__global const TYPE(X)* x, long x0, __global TYPE(X)* values, long values0,
                       __global long* indices, long indices0, long outer, long n, long inner,
                       int largest, int want_values, int want_indices) {
#if L > 1
  __local ACC best_of[L];
  __local long at_of[L];
#endif
  FOR_ROWS(unit, outer* inner) {
    __global const TYPE(X)* xr = x + x0 + unit / inner * n * inner + unit % inner;
    // Work-items beyond n repeat the last element, which changes nothing.
    long at = min((long)get_local_id(0), n - 1);
    ACC best = GET(X, xr, at * inner);
    for (long i = (long)get_local_id(0) + L; i < n; i += L) {
      ACC v = GET(X, xr, i * inner);
      if (goes_before(v, i, best, at, largest)) {
        best = v;
        at = i;
      }
    }
#if L > 1
    uint lid = get_local_id(0);
    barrier(CLK_LOCAL_MEM_FENCE);
    best_of[lid] = best;
    at_of[lid] = at;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint half_size = L / 2; half_size > 0; half_size /= 2) {
      if (lid < half_size) {
        uint other = lid + half_size;
        if (goes_before(best_of[other], at_of[other], best_of[lid], at_of[lid], largest)) {
          best_of[lid] = best_of[other];
          at_of[lid] = at_of[other];
        }
      }
      barrier(CLK_LOCAL_MEM_FENCE);
    }
    best = best_of[0];
    at = at_of[0];
#endif
    if (get_local_id(0) == 0) {
      if (want_values) PUT(X, values, values0 + unit, best);
      if (want_indices) indices[indices0 + unit] = at;
    }
  }
}
