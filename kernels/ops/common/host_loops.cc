#include "kernels/ops/common/host_loops.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/ops/common/host_clones.h"

namespace reprise::loops {
namespace {

// body(first, count) for blocks whose sums fit into float32; the sum of what it returns.
template <typename Body>
inline double InBlocks(std::int64_t n, const Body& body) {
  double total = 0;
  for (std::int64_t at = 0; at < n; at += kSumBlock) {
    total += body(at, std::min(kSumBlock, n - at));
  }
  return total;
}

// Sums of a block; compilers may add up in any order (CMakeLists.txt).
REPRISE_CLONES float BlockSum(const float* x, std::int64_t n) {
  float sum = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    sum += x[i];
  }
  return sum;
}
REPRISE_CLONES float BlockSumAbs(const float* x, std::int64_t n) {
  float sum = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    sum += std::fabs(x[i]);
  }
  return sum;
}
REPRISE_CLONES float BlockSumSquares(const float* x, float center, std::int64_t n) {
  float sum = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    sum += (x[i] - center) * (x[i] - center);
  }
  return sum;
}
REPRISE_CLONES float BlockSumProducts(const float* g, const float* x, float center,
                                      std::int64_t n) {
  float sum = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    sum += g[i] * (x[i] - center);
  }
  return sum;
}
REPRISE_CLONES void BlockSumGradient(const float* g, const float* x, float center, std::int64_t n,
                                     GradientSums* sums) {
  float sum_g = 0;
  float sum_gx = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    sum_g += g[i];
    sum_gx += g[i] * (x[i] - center);
  }
  sums->g += static_cast<double>(sum_g);
  sums->gx += static_cast<double>(sum_gx);
}

// into += total; total = 0
REPRISE_CLONES void Flush(float* total, double* into, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    into[i] += static_cast<double>(total[i]);
    total[i] = 0;
  }
}

}  // namespace

double Sum(const float* x, std::int64_t n) {
  return InBlocks(n, [&](std::int64_t at, std::int64_t count) { return BlockSum(x + at, count); });
}
double SumSquares(const float* x, float center, std::int64_t n) {
  return InBlocks(n, [&](std::int64_t at, std::int64_t count) {
    return BlockSumSquares(x + at, center, count);
  });
}
double SumProducts(const float* g, const float* x, float center, std::int64_t n) {
  return InBlocks(n, [&](std::int64_t at, std::int64_t count) {
    return BlockSumProducts(g + at, x + at, center, count);
  });
}
GradientSums SumGradient(const float* g, const float* x, float center, std::int64_t n) {
  GradientSums sums;
  for (std::int64_t at = 0; at < n; at += kSumBlock) {
    BlockSumGradient(g + at, x + at, center, std::min(kSumBlock, n - at), &sums);
  }
  return sums;
}
double SumOf(const float* x, Map map, std::int64_t n) {
  switch (map) {
    case Map::kMagnitude:
      return InBlocks(
          n, [&](std::int64_t at, std::int64_t count) { return BlockSumAbs(x + at, count); });
    case Map::kSquare:
      return SumSquares(x, 0, n);
    default:
      return Sum(x, n);
  }
}

REPRISE_CLONES void Accumulate(const float* x, Map map, float* total, std::int64_t n) {
  switch (map) {
    case Map::kValue:
      for (std::int64_t i = 0; i < n; ++i) {
        total[i] += x[i];
      }
      break;
    case Map::kMagnitude:
      for (std::int64_t i = 0; i < n; ++i) {
        total[i] += std::fabs(x[i]);
      }
      break;
    case Map::kSquare:
      for (std::int64_t i = 0; i < n; ++i) {
        total[i] += x[i] * x[i];
      }
      break;
  }
}
// In float32 over some rows, in double beyond.
void SumColumns(const float* x, Map map, std::int64_t n, std::int64_t columns, double* y) {
  constexpr std::int64_t kRows = 256;
  std::vector<float> total(static_cast<std::size_t>(columns), 0);
  for (std::int64_t row = 0; row < n; ++row) {
    Accumulate(x + row * columns, map, total.data(), columns);
    if (row % kRows == kRows - 1 || row == n - 1) {
      Flush(total.data(), y, columns);
    }
  }
}

REPRISE_CLONES void ScaleShift(const float* x, float scale, float shift, float* y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    y[i] = x[i] * scale + shift;
  }
}
REPRISE_CLONES void Adam(const AdamStep& step, const float* __restrict grad,
                         float* __restrict param, float* __restrict mean, float* __restrict square,
                         std::int64_t n) {
  const AdamStep s = step;
  for (std::int64_t i = 0; i < n; ++i) {
    const float g = grad[i] + s.decay * param[i];
    mean[i] = s.beta1 * mean[i] + s.rest1 * g;
    square[i] = s.beta2 * square[i] + s.rest2 * g * g;
    param[i] = s.keep * param[i] - s.rate * mean[i] / (std::sqrt(square[i]) * s.spread + s.eps);
  }
}

REPRISE_CLONES void PoolMax(const float* x, std::int32_t stride, std::int32_t first, float* most,
                            std::int32_t* at, std::int64_t n) {
  const auto count = static_cast<std::int32_t>(n);
  for (std::int32_t i = 0; i < count; ++i) {
    const float v = x[i * stride];
    const float best = most[i];
    const std::int32_t own = at[i];
    const bool take = !(v <= best) | (own < 0);  // larger, or NaN
    most[i] = take ? v : best;
    at[i] = take ? first + i * stride : own;
  }
}
REPRISE_CLONES void Divide(const float* x, const float* by, float* y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    y[i] = x[i] / by[i];
  }
}
REPRISE_CLONES void AddStrided(const float* x, std::int64_t stride, float* y, std::int64_t step,
                               std::int64_t n) {
  if (stride == 1 && step == 1) {
    for (std::int64_t i = 0; i < n; ++i) {
      y[i] += x[i];
    }
    return;
  }
  for (std::int64_t i = 0; i < n; ++i) {
    y[i * step] += x[i * stride];
  }
}

}  // namespace reprise::loops
