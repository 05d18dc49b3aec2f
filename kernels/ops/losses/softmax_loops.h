// The host backend's loops of softmax: exponentials, sums and gradients. float32 in dense
// memory, vectorised for the machine that runs them. Operands do not overlap in memory unless they
// begin at the same address.
#pragma once

#include <cstdint>

namespace reprise::loops {

// y = exp(x - top), returns its sum; y may be x. Relative error under 3e-7 from exp(-87.3) to
// exp(88.3); arguments below or above give these values, NaN gives either.
double ExpSum(const float* x, float top, float* y, std::int64_t n);
[[nodiscard]] double SumOfExp(const float* x, float top, std::int64_t n);  // the sum alone
void Exp(const float* x, float top, float* y, std::int64_t n);             // without the sum
[[nodiscard]] float Max(const float* x, std::int64_t n);  // -inf of none; may be NaN of NaN
// row[i] = -inf where let[i] is zero
void MaskOut(const float* let, float* row, std::int64_t n);

// dx = y (g - sum); dx may be g.
void SoftmaxGradient(const float* g, const float* y, float sum, float* dx, std::int64_t n);
// dx = g - exp(y) sum; dx may be g.
void LogSoftmaxGradient(const float* g, const float* y, float sum, float* dx, std::int64_t n);

}  // namespace reprise::loops
