// OpenBLAS, the host backend's peer for products of float32 and float64.
#pragma once

#include <memory>

#include "kernels/cpu/blas.h"
#include "kernels/peer.h"

namespace reprise {

// `used`: the library of the device's own products, or nullptr; it is no peer of itself.
[[nodiscard]] Result<std::unique_ptr<Peer>> OpenOpenBlas(const Blas* used);

}  // namespace reprise
