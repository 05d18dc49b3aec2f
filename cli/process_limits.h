// Limits of this process that libraries of others do not survive: checked before these start.
#pragma once

#include <cstdint>

#include "core/result.h"

namespace reprise {

enum class ProcessNeeds : std::uint8_t { kMpi, kMpiAndKernels };

// Environment error if fewer files may be open than MPI needs to start, or, for kernels, if the
// address space (ulimit -v) is smaller than OpenCL, oneDNN and their threads take. Open MPI ends a
// process that lacks descriptors by itself, and PoCL one that lacks address space.
[[nodiscard]] Status CheckProcessLimits(ProcessNeeds needs);

}  // namespace reprise
