// A buffer whose bytes a library's result may replace without being copied: what the devices that
// PyTorch's operators run on have in common.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "kernels/device.h"

namespace reprise {

// A library's result: its bytes on the device, and what frees them.
struct AdoptedBytes {
  std::byte* data = nullptr;
  std::int64_t bytes = 0;
  std::shared_ptr<void> owner;
};

// The memory of the buffers that take turns in it. Not thread-safe: streams and events order
// adoptions and reads.
class AdoptingMemory {
 public:
  explicit AdoptingMemory(std::int64_t bytes) : bytes_(bytes) {}
  virtual ~AdoptingMemory() = default;
  AdoptingMemory(const AdoptingMemory&) = delete;
  AdoptingMemory& operator=(const AdoptingMemory&) = delete;
  // What it was allocated with, on the device. Environment error where that is made only now, and
  // there is not so much.
  [[nodiscard]] virtual Result<std::byte*> Own() = 0;
  // A result that no later call uses. Those enqueued may, where work is enqueued.
  virtual void Free(AdoptedBytes result) = 0;

 private:
  friend class AdoptingBuffer;
  void FreeAdopted();

  const std::int64_t bytes_;
  // The buffer that has adopted a result, and the result.
  const class AdoptingBuffer* adopter_ = nullptr;
  AdoptedBytes adopted_;
};

// Not thread-safe, but for UserIsDone.
class AdoptingBuffer : public Buffer {
 public:
  // `aliased`: it may adopt; else it may be read while its successor is written. `only_tasks`: as
  // Buffer::Alias has it.
  AdoptingBuffer(std::shared_ptr<AdoptingMemory> memory, bool aliased, bool only_tasks)
      : memory_(std::move(memory)), aliased_(aliased), only_tasks_(only_tasks) {}
  [[nodiscard]] std::int64_t size_bytes() const final;
  // Where byte 0 is on the device, at the time. As AdoptingMemory::Own.
  [[nodiscard]] Result<std::byte*> Data() const;

  // Replaces the buffer's bytes by those of a result. They are freed when the buffer's last user is
  // done, when another alias of the same memory adopts, or with the last alias. False, and nothing
  // changes, if the buffer is no alias.
  [[nodiscard]] bool Adopt(AdoptedBytes result);

  // AddUser registers a call that uses the storage once in each iteration; it calls UserIsDone
  // after that use. The iteration's last use frees the adopted bytes, as the original program freed
  // its tensor: the next result then gets memory that is still in the caches. Thread-safe after the
  // last AddUser.
  void AddUser() { users_left_ = ++users_; }
  void UserIsDone();

 protected:
  [[nodiscard]] const std::shared_ptr<AdoptingMemory>& memory() const { return memory_; }

 private:
  [[nodiscard]] bool HasAdopted() const { return aliased_ && memory_->adopter_ == this; }

  const std::shared_ptr<AdoptingMemory> memory_;
  const bool aliased_;
  const bool only_tasks_;
  int users_ = 0;
  std::atomic<int> users_left_ = 0;  // of this iteration
};

}  // namespace reprise
