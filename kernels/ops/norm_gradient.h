// The host backend's loop of layer norm's gradient, float32 in dense memory. With
// h = (x - mean) rstd and m(.) the mean over a row, dx = rstd (g w - m(g w) - h m(g w h)).
#pragma once

#include <cstdint>

#include "kernels/host/result_stream.h"

namespace reprise::loops {

struct NormRow {
  const float* g = nullptr;  // null: there is no such row
  const float* x = nullptr;
  float mean = 0;
  float rstd = 0;
};

// What is done at once to two rows, so that reading one and writing the other take the same time:
// the sums of `next`, and the gradient of `row`, whose sums are known.
struct NormGradientStep {
  NormRow next;
  float* dw = nullptr;  // += g h of `next`
  float* db = nullptr;  // += g
  NormRow row;
  float mean_gw = 0, mean_gwh = 0;
  float* dx = nullptr;  // null: not wanted
  const float* w = nullptr;
};
struct NormSums {
  double gw = 0, gwh = 0;  // sums of g w and g w h
};
// In float32 over some thousand elements each, in double beyond.
[[nodiscard]] NormSums TakeStep(const NormGradientStep& step, std::int64_t n,
                                const ResultStream& stream);

}  // namespace reprise::loops
