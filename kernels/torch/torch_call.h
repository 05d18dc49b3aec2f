// The original's own operators: `--torch libtorch_cpu.so`. What their C interface can't take
// (numbers of any type, mostly: add_, addcmul_, threshold_backward) stays ours.
#pragma once

#include <memory>
#include <optional>

#include "kernels/kernel.h"
#include "kernels/torch/torch_library.h"

namespace reprise {

// `call` by the library, in memory of the library's device; nothing if it can't take it, or the
// call is not one of that device. A result that is new becomes the contents of its buffer without
// being copied (AdoptingBuffer::Adopt), as an original's is new memory every time; where it can't,
// it is copied. Runs on one thread at a time, `run` once after each `before`. Environment error
// where PyTorch refuses; PyTorch does not check every index, unlike our kernels. With kDrop a new
// result is freed as soon as it is computed, or enqueued.
enum class TorchResults : std::uint8_t { kKeep, kDrop };
[[nodiscard]] std::optional<HostTask> TorchTask(const std::shared_ptr<const TorchLibrary>& library,
                                                const OpCall& call, const Bindings& memory,
                                                TorchResults results = TorchResults::kKeep);
}  // namespace reprise
