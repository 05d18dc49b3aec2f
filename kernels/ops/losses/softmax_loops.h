// The host backend's loops of softmax: exponentials, sums and gradients. float32 in dense
// memory, vectorised for the machine that runs them. Operands do not overlap in memory unless they
// begin at the same address.
#pragma once

#include <cstdint>

#include "kernels/cpu/non_temporal_store.h"

namespace reprise::loops {

// y = exp(x - top), returns its sum; y may be x. Relative error under 3e-7 from exp(-87.3) to
// exp(88.3); arguments below or above give these values, NaN gives either.
double ExpSum(const float* x, float top, float* y, std::int64_t n);
void Exp(const float* x, float top, float* y, std::int64_t n);  // without the sum
[[nodiscard]] float Max(const float* x, std::int64_t n);        // -inf of none; may be NaN of NaN
// row[i] = -inf where let[i] is zero
void MaskOut(const float* let, float* row, std::int64_t n);

// The work on three rows of a softmax at once, so that memory accesses overlap the exponentials:
// exp(row - top), y = last scale + shift, and the first reading of `next`.
struct SoftmaxStep {
  const float* next;
  const float* row;
  float top;
  float* powers;  // null: only their sum is wanted
  const float* last;
  float scale, shift;
  float* y;  // null: there is no last row yet
};
struct SoftmaxSums {
  float powers;  // their sum, in float32 for each sixteenth of the row
  float most;    // the largest of `next`
};
[[nodiscard]] SoftmaxSums TakeStep(const SoftmaxStep& step, std::int64_t n,
                                   const NonTemporalStore& store);

// dx = y (g - sum); dx may be g.
void SoftmaxGradient(const float* g, const float* y, float sum, float* dx, std::int64_t n);
// The same, and log-softmax's dx = g - exp(y) sum, by non-temporal stores where `store` does; what
// is `ahead` elements further on in the operands is prefetched.
void WriteSoftmaxGradient(const float* g, const float* y, float sum, float* dx, std::int64_t n,
                          std::int64_t ahead, const NonTemporalStore& store);
void WriteLogSoftmaxGradient(const float* g, const float* y, float sum, float* dx, std::int64_t n,
                             std::int64_t ahead, const NonTemporalStore& store);

}  // namespace reprise::loops
