// CLBlast, the OpenCL backend's peer for products, through its C interface.
#pragma once

#include <memory>

#include "kernels/peer.h"

namespace reprise {

[[nodiscard]] Result<std::unique_ptr<Peer>> OpenClBlast(const DeviceInfo& device);

}  // namespace reprise
