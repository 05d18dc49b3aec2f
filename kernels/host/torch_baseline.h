// PyTorch's operators on the host, a baseline of whatever its C interface takes.
#pragma once

#include <memory>
#include <string>

#include "kernels/baseline.h"

namespace reprise {

// `path`: libtorch_cpu.so. Results are new memory each time, and freed, as in PyTorch itself.
[[nodiscard]] Result<std::unique_ptr<Baseline>> OpenTorchBaseline(const std::string& path);

}  // namespace reprise
