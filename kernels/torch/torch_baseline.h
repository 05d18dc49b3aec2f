// PyTorch's operators as a baseline (kernels/baseline.h) of whatever its C interface takes.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "kernels/baseline.h"
#include "kernels/torch/torch_library.h"

namespace reprise {

// `path`: as TorchLibrary::Open; empty is an environment error. Results are new memory each time,
// and freed, as in PyTorch itself. `prepare` makes a launch of the device of a task that calls the
// operator.
[[nodiscard]] Result<std::unique_ptr<Baseline>> OpenTorchBaseline(
    const std::string& path, TorchDevice device,
    std::function<std::unique_ptr<PreparedLaunch>(const TorchLibrary& library, HostTask)> prepare);

}  // namespace reprise
