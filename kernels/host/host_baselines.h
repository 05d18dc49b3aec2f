// The host backend's baselines (kernels/baseline.h).
#pragma once

#include <memory>
#include <string>

#include "kernels/baseline.h"
#include "kernels/cpu/blas.h"

namespace reprise {

// OpenBLAS, for products of float32 and float64. `used`: the library of the device's own products,
// or nullptr; it is no baseline of itself.
[[nodiscard]] Result<std::unique_ptr<Baseline>> OpenOpenBlas(const Blas* used);

}  // namespace reprise
