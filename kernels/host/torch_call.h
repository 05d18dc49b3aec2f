// The original's own operators on the host backend: `--torch libtorch_cpu.so`. What its C interface
// can't take (numbers of any type, mostly: add_, addcmul_, threshold_backward) stays ours.
#pragma once

#include <memory>
#include <optional>

#include "kernels/host/torch_library.h"
#include "kernels/kernel.h"

namespace reprise {

// `call` by the library; nothing if it can't take it, or the call is not one of a CPU. A result
// that is new becomes the contents of its buffer without being copied (HostBuffer::Adopt), as an
// original's is new memory every time; where it can't, it is copied. Runs on one thread at a time,
// `run` once after each `before`. Environment error where PyTorch refuses; PyTorch does not check
// every index, unlike our kernels. With kDrop a new result is freed as soon as it is computed.
enum class TorchResults : std::uint8_t { kKeep, kDrop };
[[nodiscard]] std::optional<HostTask> TorchTask(const std::shared_ptr<const TorchLibrary>& library,
                                                const OpCall& call, const Bindings& memory,
                                                TorchResults results = TorchResults::kKeep);
}  // namespace reprise
