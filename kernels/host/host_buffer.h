// The host backend's memory.
#pragma once

#include <memory>

#include "kernels/host/fresh_memory.h"
#include "kernels/torch/adopting_buffer.h"

namespace reprise {

// Host memory. Begins a cache line, as PyTorch's does: vectors of half a line are then never split.
class HostBuffer final : public AdoptingBuffer {
 public:
  // Zeros; environment error if there is not so much memory. With `fresh` a library may supply
  // results: the buffer has aliases, and `fresh` sees each result before it is freed.
  static Result<std::unique_ptr<HostBuffer>> Allocate(std::int64_t bytes,
                                                      std::shared_ptr<FreshMemory> fresh);
  [[nodiscard]] std::byte* host_data() override { return *Data(); }
  [[nodiscard]] std::unique_ptr<Buffer> Alias(bool only_tasks) override;

 private:
  using AdoptingBuffer::AdoptingBuffer;
};

}  // namespace reprise
