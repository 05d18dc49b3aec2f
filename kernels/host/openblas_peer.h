// OpenBLAS, the host backend's peer for products of float32 and float64.
#pragma once

#include <memory>

#include "kernels/peer.h"

namespace reprise {

[[nodiscard]] Result<std::unique_ptr<Peer>> OpenOpenBlas();

}  // namespace reprise
