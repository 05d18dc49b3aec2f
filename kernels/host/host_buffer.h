// The host backend's memory.
#pragma once

#include <atomic>
#include <memory>

#include "kernels/device.h"
#include "kernels/host/fresh_memory.h"

namespace reprise {

// Host memory. Begins a cache line, as PyTorch's does: vectors of half a line are then never split.
// Not thread-safe: streams and events order adoptions and reads.
class HostBuffer final : public Buffer {
 public:
  // Zeros; environment error if there is not so much memory. With `fresh` a library may supply
  // results: the buffer has aliases, and `fresh` sees each result before it is freed.
  static Result<std::unique_ptr<HostBuffer>> Allocate(std::int64_t bytes,
                                                      std::shared_ptr<FreshMemory> fresh);
  [[nodiscard]] std::int64_t size_bytes() const override;
  [[nodiscard]] std::byte* host_data() override;
  [[nodiscard]] std::unique_ptr<Buffer> Alias(bool only_tasks) override;

  // Replaces the buffer's bytes by those of a library's result; `owner` frees them. They are freed
  // when the buffer's last user is done, when another alias of the same memory adopts, or with the
  // last alias. False, and nothing changes, if the buffer is no alias: it may then be read while
  // its successor is written.
  [[nodiscard]] bool Adopt(std::byte* data, std::int64_t bytes, std::shared_ptr<void> owner);

  // AddUser registers a task that uses the storage once in each iteration; the task calls
  // UserIsDone after that use. The iteration's last use frees the adopted bytes, as the original
  // program freed its tensor: the next result then gets memory that is still in the caches.
  // Thread-safe after the last AddUser.
  void AddUser();
  void UserIsDone();

 private:
  struct Memory;
  HostBuffer(std::shared_ptr<Memory> memory, bool aliased, bool only_tasks)
      : memory_(std::move(memory)), aliased_(aliased), only_tasks_(only_tasks) {}
  [[nodiscard]] bool HasAdopted() const;

  std::shared_ptr<Memory> memory_;
  bool aliased_;
  bool only_tasks_;
  int users_ = 0;
  std::atomic<int> users_left_ = 0;  // of this iteration
};

}  // namespace reprise
