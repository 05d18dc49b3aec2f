// The host backend's memory.
#pragma once

#include <atomic>
#include <memory>

#include "kernels/device.h"

namespace reprise {

// Host memory. Begins a cache line, as PyTorch's does: vectors of half a line are then never split.
// Not thread-safe: who adopts and who reads are ordered by their streams and events.
class HostBuffer final : public Buffer {
 public:
  // Zeros; environment error if there is not so much memory. `has_tenants`: a library may bring
  // results.
  static Result<std::unique_ptr<HostBuffer>> Allocate(std::int64_t bytes, bool has_tenants);
  [[nodiscard]] std::int64_t size_bytes() const override;
  [[nodiscard]] std::byte* host_data() override;
  [[nodiscard]] std::unique_ptr<Buffer> Tenant(bool only_tasks) override;

  // From now on the buffer's bytes are those, which a library brought; `owner` frees them. They go
  // when its last user is done, when another tenant of the same memory adopts, or with the last
  // tenant. False, and nothing done, where the buffer is no tenant: it may then be read while its
  // successor is written.
  [[nodiscard]] bool Adopt(std::byte* data, std::int64_t bytes, std::shared_ptr<void> owner);

  // A task that uses the storage once in each iteration; and that it has, in this one. With the
  // last of them what was adopted is freed, as an original's tensors are: the next result then gets
  // memory that is still in the caches. Thread-safe after the last AddUser.
  void AddUser();
  void UserIsDone();

 private:
  struct Memory;
  HostBuffer(std::shared_ptr<Memory> memory, bool tenant, bool only_tasks)
      : memory_(std::move(memory)), tenant_(tenant), only_tasks_(only_tasks) {}
  [[nodiscard]] bool HasAdopted() const;

  std::shared_ptr<Memory> memory_;
  bool tenant_;
  bool only_tasks_;
  int users_ = 0;
  std::atomic<int> users_left_ = 0;  // of this iteration
};

}  // namespace reprise
