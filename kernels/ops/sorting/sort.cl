// Stable sort of dense rows; an element travels with its index. X: elements. On a CPU a work-item
// sorts whole rows digit by digit; elsewhere runs of RUN elements are sorted by insertion, then
// passes merge pairs of runs.
#include "rows.cl"

#define RUN 32

// NaN counts as the largest, as in PyTorch.
static bool goes_before(ACC a, ACC b, int descending) {
  bool a_nan = IS_NAN(a), b_nan = IS_NAN(b);
  if (descending) return (a_nan && !b_nan) || (!b_nan && a > b);
  return (b_nan && !a_nan) || (!a_nan && a < b);
}

#if DEVICE_IS_CPU
// Unsigned keys in the order of what they stand for, equal where that is equal. NaN is the largest.
#define WIDE_float64 1
#if INTEGER_ACC
typedef ulong KEY;
static KEY key_of(ACC v) { return (ulong)v ^ (1UL << 63); }
#elif CAT(WIDE_, ACC_NAME)
typedef ulong KEY;
static KEY key_of(ACC v) {
  const ulong bits = as_ulong(v == 0 ? 0.0 : v);  // no -0
  return isnan(v) ? ~0UL : (bits >> 63) != 0 ? ~bits : bits | (1UL << 63);
}
#else
typedef uint KEY;
static KEY key_of(ACC v) {
  const uint bits = as_uint(v == 0 ? 0.0f : v);
  return isnan(v) ? ~0u : (bits >> 31) != 0 ? ~bits : bits | (1u << 31);
}
#endif
#define DIGITS 256
#define PASSES ((int)sizeof(KEY))

// Digit by digit from the lowest; digits that all keys of a row share are passed over. The first k
// of each row go to `out`, where values are wanted, and to `out_indices`.
__kernel void radix_sort(__global const TYPE(X) * x, long x0, __global KEY* keys, long keys0,
                         __global KEY* other_keys, long other_keys0, __global uint* indices,
                         long indices0, __global uint* other_indices, long other_indices0,
                         __global TYPE(X) * out, long out0, __global long* out_indices,
                         long out_indices0, long rows, long n, long k, int descending,
                         int has_values) {
  FOR_ROWS(row, rows) {
    __global const TYPE(X)* line = x + x0 + row * n;
    __global KEY* from = keys + keys0 + row * n;
    __global KEY* to = other_keys + other_keys0 + row * n;
    __global uint* at = indices + indices0 + row * n;
    __global uint* to_at = other_indices + other_indices0 + row * n;
    uint counts[PASSES][DIGITS] = {{0}};
    for (long i = 0; i < n; ++i) {
      const KEY v = key_of(GET(X, line, i)), key = descending ? ~v : v;
      from[i] = key;
      at[i] = (uint)i;
      for (int pass = 0; pass < PASSES; ++pass) ++counts[pass][(key >> (8 * pass)) % DIGITS];
    }
    for (int pass = 0; pass < PASSES; ++pass) {
      uint* first = counts[pass];
      if (first[(from[0] >> (8 * pass)) % DIGITS] == n) continue;
      uint sum = 0;
      for (int digit = 0; digit < DIGITS; ++digit) {
        const uint count = first[digit];
        first[digit] = sum;
        sum += count;
      }
      for (long i = 0; i < n; ++i) {
        const KEY key = from[i];
        const uint place = first[(key >> (8 * pass)) % DIGITS]++;
        to[place] = key;
        to_at[place] = at[i];
      }
      __global KEY* swap = from;
      from = to;
      to = swap;
      __global uint* swap_at = at;
      at = to_at;
      to_at = swap_at;
    }
    for (long i = 0; i < k; ++i) {
      if (has_values) out[out0 + row * k + i] = line[at[i]];
      out_indices[out_indices0 + row * k + i] = at[i];
    }
  }
}
#endif

// rows * runs work-items; the last run of a row may be short.
__kernel void sort_runs(__global const TYPE(X)* x, long x0, __global TYPE(X)* keys, long keys0,
                        __global long* indices, long indices0, long rows, long n,
                        int descending) {
  long runs = (n + RUN - 1) / RUN;
  for (long unit = FIRST(rows * runs); unit < LAST(rows * runs); unit += STEP) {
    long row = unit / runs, begin = unit % runs * RUN;
    int size = (int)min((long)RUN, n - begin);
    ACC key[RUN];
    int at[RUN];
    for (int i = 0; i < size; ++i) {
      ACC v = GET(X, x, x0 + row * n + begin + i);
      int j = i;
      for (; j > 0 && goes_before(v, key[j - 1], descending); --j) {
        key[j] = key[j - 1];
        at[j] = at[j - 1];
      }
      key[j] = v;
      at[j] = i;
    }
    for (int i = 0; i < size; ++i) {
      PUT(X, keys, keys0 + row * n + begin + i, key[i]);
      indices[indices0 + row * n + begin + i] = begin + at[i];
    }
  }
}

// Each element finds its place in the merged run: its own rank plus how many of the sibling run go
// before it (of equal ones, those of the left run do).
__kernel void merge_runs(__global const TYPE(X)* keys, long keys0, __global const long* indices,
                         long indices0, __global TYPE(X)* out, long out0,
                         __global long* out_indices, long out_indices0, long rows, long n,
                         long width, int descending) {
  for (long k = FIRST(rows * n); k < LAST(rows * n); k += STEP) {
    long row = k / n, i = k % n;
    long pair = i / (2 * width) * (2 * width);
    long middle = min(pair + width, n), end = min(pair + 2 * width, n);
    bool left = i < middle;
    __global const TYPE(X)* from = keys + keys0 + row * n;
    ACC v = GET(X, from, i);
    long low = left ? middle : pair, high = left ? end : middle, base = low;
    while (low < high) {
      long probe = (low + high) / 2;
      ACC other = GET(X, from, probe);
      bool before = left ? goes_before(other, v, descending) : !goes_before(v, other, descending);
      if (before) {
        low = probe + 1;
      } else {
        high = probe;
      }
    }
    long rank = (left ? i - pair : i - middle) + (low - base);
    PUT(X, out, out0 + row * n + pair + rank, v);
    out_indices[out_indices0 + row * n + pair + rank] = indices[indices0 + k];
  }
}

// One of each sorted row of n: the one at `rank`, or (MEDIAN) the lower of the two in the middle, NaN
// if there is one, or (NAN_MEDIAN) that of what is not NaN.
enum { RANK, MEDIAN, NAN_MEDIAN };
__kernel void take_rank(__global const TYPE(X)* keys, long keys0, __global const long* indices,
                        long indices0, __global TYPE(X)* out, long out0,
                        __global long* out_indices, long out_indices0, long rows, long n, int mode,
                        long rank, int has_indices) {
  for (long row = FIRST(rows); row < LAST(rows); row += STEP) {
    long numbers = n;
    while (mode != RANK && numbers > 0 && IS_NAN(GET(X, keys, keys0 + row * n + numbers - 1)))
      --numbers;
    long at = rank;
    if (mode == MEDIAN) at = numbers < n ? numbers : (n - 1) / 2;
    if (mode == NAN_MEDIAN) at = max(numbers - 1, 0L) / 2;
    out[out0 + row] = keys[keys0 + row * n + at];
    if (has_indices) out_indices[out_indices0 + row] = indices[indices0 + row * n + at];
  }
}

// The first k of each sorted row of n. `has_values` 0: only the indices are wanted.
__kernel void take_first(__global const TYPE(X)* keys, long keys0, __global const long* indices,
                         long indices0, __global TYPE(X)* out, long out0, __global long* out_indices,
                         long out_indices0, long rows, long n, long k, int has_values) {
  for (long i = FIRST(rows * k); i < LAST(rows * k); i += STEP) {
    long from = i / k * n + i % k;
    if (has_values) out[out0 + i] = keys[keys0 + from];
    out_indices[out_indices0 + i] = indices[indices0 + from];
  }
}
