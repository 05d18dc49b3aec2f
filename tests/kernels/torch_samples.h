// Kernels' samples as PyTorch's operators do them.
#pragma once

#include "core/value.h"
#include "kernels/kernel.h"

namespace reprise {

// Samples of which PyTorch makes something else, or that it never gets: random numbers; the order
// of what is equal; optimizers' squares that are negative; indices beyond the plane, which it does
// not check; sums of many 16-bit numbers (grid_sampler_2d_backward); layer norms of CUDA's, with
// statistics in another type; attention with a mask of bools; means and maxima of bags whose sizes
// their indices do not have.
[[nodiscard]] bool HasAnotherMeaning(const Kernel& kernel, const OpCall& call);

// In 16 bits PyTorch rounds between the steps of a convolution or an attention; References do not.
[[nodiscard]] Kernel::Tolerance ToleranceOf(const Kernel& kernel, const OpCall& call);

}  // namespace reprise
