// Reductions on host memory: what MPI has no operation for (16-bit floats), and all of the local
// transport's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/comm.h"
#include "core/dtype.h"

namespace reprise {

// Floats: sum, avg, premul_sum, min, max, prod. Integers: those and the bit operations. Bool as
// PyTorch's backends have it: sum, max, bor mean "any"; prod, min, band mean "all"; bxor. Complex:
// sum, avg, premul_sum, prod. float8 and unknown types: none.
[[nodiscard]] bool CanReduce(DType dtype, ReduceOp op);

// inout[i] = in[i] op inout[i], rounded to nearest even once. kAvg sums: FinishAverage divides;
// kPremulSum sums what Premultiply has multiplied.
// Requires CanReduce and equal sizes.
void ReduceInto(DType dtype, ReduceOp op, std::span<const std::byte> in,
                std::span<std::byte> inout);

// Divides by the number of ranks; integers towards zero.
void FinishAverage(DType dtype, int ranks, std::span<std::byte> inout);

// inout[i] *= kPremulFactor.
void Premultiply(DType dtype, std::span<std::byte> inout);

}  // namespace reprise
