// PyTorch's operators on the host, a peer of whatever its C interface takes.
#pragma once

#include <memory>
#include <string>

#include "kernels/peer.h"

namespace reprise {

// `path`: libtorch_cpu.so. Results are new memory each time, and freed, as in PyTorch itself.
[[nodiscard]] Result<std::unique_ptr<Peer>> OpenTorchPeer(const std::string& path);

}  // namespace reprise
