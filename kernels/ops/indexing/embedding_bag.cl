// Sums, means and maxima of rows of a table, bag by bag. X: elements, I: indices and offsets.
// Operands are dense: table (rows, D), bags (bags, D); bag b has indices [starts[b], starts[b + 1]).
#include "rows.cl"

#define BAG_MEAN 1
#define BAG_MAX 2

// Where bags begin, by one work-item: offsets that fall back (replayed ones may) begin no earlier
// than those before them, so that no index is in two bags.
__kernel void bag_starts(__global const TYPE(I) * offsets, long offsets0, __global long* starts,
                         long starts0, long entries, long bags, long n) {
  long start = 0;
  for (long b = 0; b < entries; ++b) {
    start = max(start, clamp((long)offsets[offsets0 + b], 0L, n));
    starts[starts0 + b] = start;
  }
  if (entries == bags) starts[starts0 + bags] = n;
}

__kernel void bag_forward(__global const TYPE(X) * table, long table0,
                          __global const TYPE(I) * indices, long indices0,
                          __global const long* starts, long starts0,
                          __global const TYPE(X) * weights, long weights0, int weighted,
                          __global TYPE(X) * out, long out0, __global TYPE(I) * largest,
                          long largest0, int keep_largest, long rows, long D, long bags, int mode,
                          long padding) {
  for (long k = FIRST(bags * D); k < LAST(bags * D); k += STEP) {
    const long b = k / D, d = k % D;
    ACC total = 0;
    long count = 0, at = 0;
    for (long i = starts[starts0 + b]; i < starts[starts0 + b + 1]; ++i) {
      const long row = in_range(indices[indices0 + i], rows);
      if (row == padding) continue;
      ACC v = GET(X, table, table0 + row * D + d);
      if (weighted) v *= GET(X, weights, weights0 + i);
      if (mode == BAG_MAX) {
        if (count == 0 || v > total) {
          total = v;
          at = row;
        }
      } else {
        total += v;
      }
      ++count;
    }
    if (mode == BAG_MEAN && count > 0) total /= (ACC)count;
    PUT(X, out, out0 + k, total);
    if (keep_largest) largest[largest0 + k] = at;
  }
}

// What the backward needs: the bag of each index, and how many of a bag's count.
__kernel void bag_members(__global const TYPE(I) * indices, long indices0,
                          __global const long* starts, long starts0, __global TYPE(I) * bag_of,
                          long bag_of0, int keep_bag, __global TYPE(I) * sizes, long sizes0,
                          int keep_sizes, long rows, long bags, long padding) {
  for (long b = FIRST(bags); b < LAST(bags); b += STEP) {
    long count = 0;
    for (long i = starts[starts0 + b]; i < starts[starts0 + b + 1]; ++i) {
      if (keep_bag) bag_of[bag_of0 + i] = b;
      count += in_range(indices[indices0 + i], rows) != padding;
    }
    if (keep_sizes) sizes[sizes0 + b] = count;
  }
}

// A row for each of n indices: its bag's gradient, scaled.
__kernel void bag_rows_grad(__global const TYPE(X) * grad, long grad0,
                            __global const TYPE(I) * bag_of, long bag_of0,
                            __global const TYPE(I) * sizes, long sizes0,
                            __global const TYPE(X) * weights, long weights0, int weighted,
                            __global TYPE(X) * out, long out0, long n, long D, long bags,
                            int mode) {
  for (long k = FIRST(n * D); k < LAST(n * D); k += STEP) {
    const long bag = in_range(bag_of[bag_of0 + k / D], bags);
    ACC v = GET(X, grad, grad0 + bag * D + k % D);
    if (weighted) v *= GET(X, weights, weights0 + k / D);
    if (mode == BAG_MEAN) v /= (ACC)max((long)sizes[sizes0 + bag], 1L);
    PUT(X, out, out0 + k, v);
  }
}

// Maxima: a work-item owns a column of the table.
__kernel void bag_max_grad(__global const TYPE(X) * grad, long grad0,
                           __global const TYPE(I) * largest, long largest0,
                           __global const TYPE(I) * sizes, long sizes0, __global TYPE(X) * table,
                           long table0, long rows, long D, long bags, long padding) {
  for (long d = FIRST(D); d < LAST(D); d += STEP) {
    for (long row = 0; row < rows; ++row) PUT(X, table, table0 + row * D + d, 0);
    for (long b = 0; b < bags; ++b) {
      const long row = in_range(largest[largest0 + b * D + d], rows);
      if (sizes[sizes0 + b] == 0 || row == padding) continue;
      const long to = table0 + row * D + d;
      PUT(X, table, to, GET(X, table, to) + GET(X, grad, grad0 + b * D + d));
    }
  }
}
