// The loops of the host backend: float32 in dense memory, vectorised for the machine that runs
// them. Operands do not overlap in memory unless they begin at the same address.
#pragma once

#include <cstdint>

namespace reprise::loops {

// Sums are taken in float32 over so many elements, in double beyond.
inline constexpr std::int64_t kSumBlock = 4096;
[[nodiscard]] double Sum(const float* x, std::int64_t n);
[[nodiscard]] double SumSquares(const float* x, float center, std::int64_t n);  // of x - center
[[nodiscard]] double SumProducts(const float* g, const float* x, float center, std::int64_t n);

struct GradientSums {
  double g = 0, gx = 0;  // sums of g and g (x - center)
};
[[nodiscard]] GradientSums SumGradient(const float* g, const float* x, float center,
                                       std::int64_t n);

// Of x[i], |x[i]| or x[i]².
enum class Map : std::uint8_t { kValue, kMagnitude, kSquare };
[[nodiscard]] double SumOf(const float* x, Map map, std::int64_t n);
void Accumulate(const float* x, Map map, float* total, std::int64_t n);  // total[i] += of x[i]
// y[i] += of column i: n rows of `columns` each.
void SumColumns(const float* x, Map map, std::int64_t n, std::int64_t columns, double* y);

void ScaleShift(const float* x, float scale, float shift, float* y, std::int64_t n);
// One step of Adam (decay added to the gradient) or AdamW (parameters kept in part).
struct AdamStep {
  float keep = 1, decay = 0;
  float beta1 = 0, rest1 = 1, beta2 = 0, rest2 = 1;  // the rest: 1 - beta
  float rate = 0;                                    // over the mean's correction
  float spread = 1, eps = 0;                         // 1 / the root of the square's correction
};
void Adam(const AdamStep& step, const float* grad, float* param, float* mean, float* square,
          std::int64_t n);

// Pooling, one tap of n windows: compares x[i stride] with the largest so far of window i; the
// pixel's number is `first` + i stride. The first of equal values stays; NaN replaces any.
void PoolMax(const float* x, std::int32_t stride, std::int32_t first, float* most, std::int32_t* at,
             std::int64_t n);
void Divide(const float* x, const float* by, float* y, std::int64_t n);  // y may be x
// y[i step] += x[i stride]
void AddStrided(const float* x, std::int64_t stride, float* y, std::int64_t step, std::int64_t n);

}  // namespace reprise::loops
