// Pooling of float32 images on the host, tap by tap over whole rows.
#pragma once

#include "kernels/kernel.h"
#include "kernels/ops/images/pool_call.h"

namespace reprise {

// False where it has no loop: other dtypes, rows that are not dense, adaptive windows, images too
// large for 31-bit indices.
[[nodiscard]] Result<bool> RunPoolOnHost(const PoolCall& p, const HostBindings& memory);

}  // namespace reprise
