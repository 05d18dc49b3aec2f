// The host backend's loops of normalisations: float32 in dense memory. Operands and results do not
// overlap.
#pragma once

#include <cstdint>

namespace reprise::loops {

struct Normal {
  float mean = 0;
  float rstd = 0;
};
// y = (x - mean) rstd w + b
void Normalise(const float* x, const Normal& of, const float* w, const float* b, float* y,
               std::int64_t n);

// A channel of batch norm's gradient: dx = scale (g - mean_g - (x - mean) slope)
struct ChannelGradient {
  float scale = 0, mean_g = 0, mean = 0, slope = 0;
};
void GradientOfChannel(const float* g, const float* x, const ChannelGradient& of, float* dx,
                       std::int64_t n);

// A row of layer norm's gradient: with h = (x - mean) rstd and m(.) the mean over the row,
// dx = rstd (g w - m(g w) - h m(g w h)).
struct NormRow {
  const float* g = nullptr;
  const float* x = nullptr;
  const float* w = nullptr;
  Normal normal;
};
struct NormSums {
  double gw = 0, gwh = 0;  // of g w and of g w h
};
// Also dw += g h and db += g.
[[nodiscard]] NormSums SumsOfRow(const NormRow& row, float* dw, float* db, std::int64_t n);
void GradientOfRow(const NormRow& row, float mean_gw, float mean_gwh, float* dx, std::int64_t n);

}  // namespace reprise::loops
