#include "kernels/ops/norms/norm_loops.h"

#include <algorithm>

#include "kernels/ops/common/host_clones.h"
#include "kernels/ops/common/host_loops.h"

namespace reprise::loops {
namespace {

REPRISE_CLONES void SumBlock(const float* __restrict g, const float* __restrict x,
                             const float* __restrict w, const Normal& of, float* __restrict dw,
                             float* __restrict db, std::int64_t n, NormSums* sums) {
  const Normal s = of;
  float gw = 0;
  float gwh = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const float h = (x[i] - s.mean) * s.rstd;
    const float weighted = g[i] * w[i];
    gw += weighted;
    gwh += weighted * h;
    dw[i] += g[i] * h;
    db[i] += g[i];
  }
  sums->gw += static_cast<double>(gw);
  sums->gwh += static_cast<double>(gwh);
}

}  // namespace

REPRISE_CLONES void Normalise(const float* __restrict x, const Normal& of,
                              const float* __restrict w, const float* __restrict b,
                              float* __restrict y, std::int64_t n) {
  const Normal s = of;
  for (std::int64_t i = 0; i < n; ++i) {
    y[i] = (x[i] - s.mean) * s.rstd * w[i] + b[i];
  }
}

REPRISE_CLONES void GradientOfChannel(const float* __restrict g, const float* __restrict x,
                                      const ChannelGradient& of, float* __restrict dx,
                                      std::int64_t n) {
  const ChannelGradient s = of;
  for (std::int64_t i = 0; i < n; ++i) {
    dx[i] = s.scale * (g[i] - s.mean_g - (x[i] - s.mean) * s.slope);
  }
}

NormSums SumsOfRow(const NormRow& row, float* dw, float* db, std::int64_t n) {
  NormSums sums;
  for (std::int64_t at = 0; at < n; at += kSumBlock) {
    SumBlock(row.g + at, row.x + at, row.w + at, row.normal, dw + at, db + at,
             std::min(kSumBlock, n - at), &sums);
  }
  return sums;
}

REPRISE_CLONES void GradientOfRow(const NormRow& row, float mean_gw, float mean_gwh,
                                  float* __restrict dx, std::int64_t n) {
  const NormRow s = row;
  for (std::int64_t i = 0; i < n; ++i) {
    const float h = (s.x[i] - s.normal.mean) * s.normal.rstd;
    dx[i] = s.normal.rstd * (s.g[i] * s.w[i] - mean_gw - h * mean_gwh);
  }
}

}  // namespace reprise::loops
