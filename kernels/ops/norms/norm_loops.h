// The host backend's loops of normalisations that write results: float32 in dense memory,
// non-temporally where `store` is. Operands and results do not overlap. `ahead`: how many elements
// ahead of its reads a loop prefetches.
#pragma once

#include <cstdint>

#include "kernels/cpu/non_temporal_store.h"

namespace reprise::loops {

// y = x scale + shift
void WriteScaled(const float* x, float scale, float shift, float* y, std::int64_t n,
                 std::int64_t ahead, const NonTemporalStore& store);

struct Normal {
  float mean = 0;
  float rstd = 0;
};
// y = (x - mean) rstd w + b
void WriteNormalised(const float* x, const Normal& of, const float* w, const float* b, float* y,
                     std::int64_t n, std::int64_t ahead, const NonTemporalStore& store);

// A channel of batch norm's gradient: dx = scale (g - mean_g - (x - mean) slope)
struct ChannelGradient {
  float scale = 0, mean_g = 0, mean = 0, slope = 0;
};
void WriteChannelGradient(const float* g, const float* x, const ChannelGradient& of, float* dx,
                          std::int64_t n, std::int64_t ahead, const NonTemporalStore& store);

// Layer norm's gradient: with h = (x - mean) rstd and m(.) the mean over a row,
// dx = rstd (g w - m(g w) - h m(g w h)).
struct NormRow {
  const float* g = nullptr;  // null: there is no such row
  const float* x = nullptr;
  float mean = 0;
  float rstd = 0;
};

// The work on two rows at once, so that reading one overlaps writing the other: the sums of `next`,
// and the gradient of `row`, whose sums are known.
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
                                const NonTemporalStore& store);

}  // namespace reprise::loops
