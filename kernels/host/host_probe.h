// The host's limits: what kernels/bench/probe.h runs where there is no OpenCL.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/dtype.h"

namespace reprise {

// One memcpy per core, all at once.
void CopyOnAllCores(std::byte* to, const std::byte* from, std::size_t bytes);

// `rounds` multiply-adds in each of several independent vectors, on every core, with the widest
// vectors that this CPU has. float64, else float32.
void MultiplyAddOnAllCores(DType dtype, std::int32_t rounds);
// FLOPs of one round on all cores.
[[nodiscard]] double MultiplyAddFlopsPerRound(DType dtype);

}  // namespace reprise
