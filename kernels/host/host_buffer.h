// The host backend's memory.
#pragma once

#include <memory>

#include "kernels/device.h"

namespace reprise {

// Host memory. Begins a cache line, as PyTorch's does: vectors of half a line are then never split.
// Not thread-safe: who adopts and who reads are ordered by their streams and events.
class HostBuffer final : public Buffer {
 public:
  // Zeros; environment error if there is no such room. `has_tenants`: a library may bring results.
  static Result<std::unique_ptr<HostBuffer>> Allocate(std::int64_t bytes, bool has_tenants);
  [[nodiscard]] std::int64_t size_bytes() const override;
  [[nodiscard]] std::byte* host_data() override;
  [[nodiscard]] std::unique_ptr<Buffer> Tenant() override;

  // From now on the buffer's bytes are those, which a library brought; `owner` frees them. They go
  // when another tenant of the same memory adopts, or with the last tenant. False, and nothing
  // done, where the buffer is no tenant: it may then be read while its successor is written.
  [[nodiscard]] bool Adopt(std::byte* data, std::int64_t bytes, std::shared_ptr<void> owner);

 private:
  struct Memory;
  HostBuffer(std::shared_ptr<Memory> memory, bool tenant)
      : memory_(std::move(memory)), tenant_(tenant) {}
  [[nodiscard]] bool HasAdopted() const;

  std::shared_ptr<Memory> memory_;
  bool tenant_;
};

}  // namespace reprise
