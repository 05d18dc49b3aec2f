#include "kernels/host/host_buffer.h"

#include <cstdlib>
#include <utility>

namespace reprise {
namespace {

constexpr std::size_t kCacheLineBytes = 64;

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};

}  // namespace

struct HostBuffer::Memory {
  std::unique_ptr<void, Free> whole;
  std::byte* data = nullptr;
  std::int64_t bytes = 0;
  std::shared_ptr<FreshMemory> fresh;  // null: no aliases
  // The alias that has adopted a library's bytes, and those bytes.
  const HostBuffer* adopter = nullptr;
  std::byte* adopted = nullptr;
  std::int64_t adopted_bytes = 0;
  std::shared_ptr<void> owner;

  void FreeAdopted() {
    if (owner != nullptr && owner.use_count() == 1) {
      fresh->BeforeFree(adopted, adopted_bytes);
    }
    owner.reset();
  }
};

Result<std::unique_ptr<HostBuffer>> HostBuffer::Allocate(std::int64_t bytes,
                                                         std::shared_ptr<FreshMemory> fresh) {
  if (bytes < 0) {
    return UsageError("a buffer of negative size was asked for");
  }
  auto memory = std::make_shared<Memory>();
  memory->bytes = bytes;
  memory->fresh = std::move(fresh);
  std::size_t room = static_cast<std::size_t>(bytes) + kCacheLineBytes;
  memory->whole.reset(std::calloc(room, 1));  // untouched pages then cost nothing
  void* first = memory->whole.get();
  if (first == nullptr) {
    return EnvironmentError("out of host memory: " + std::to_string(bytes) + " bytes");
  }
  memory->data = static_cast<std::byte*>(
      std::align(kCacheLineBytes, static_cast<std::size_t>(bytes), first, room));
  return std::unique_ptr<HostBuffer>(new HostBuffer(std::move(memory), false, false));
}

bool HostBuffer::HasAdopted() const { return aliased_ && memory_->adopter == this; }

std::int64_t HostBuffer::size_bytes() const {
  return HasAdopted() ? memory_->adopted_bytes : memory_->bytes;
}

std::byte* HostBuffer::host_data() { return HasAdopted() ? memory_->adopted : memory_->data; }

std::unique_ptr<Buffer> HostBuffer::Alias(bool only_tasks) {
  return memory_->fresh == nullptr
             ? nullptr
             : std::unique_ptr<Buffer>(new HostBuffer(memory_, true, only_tasks));
}

void HostBuffer::AddUser() { users_left_ = ++users_; }

void HostBuffer::UserIsDone() {
  if (users_left_.fetch_sub(1) != 1) {
    return;
  }
  users_left_ = users_;  // the next iteration begins after all of this one's tasks
  if (only_tasks_ && HasAdopted()) {
    memory_->adopter = nullptr;
    memory_->FreeAdopted();
  }
}

bool HostBuffer::Adopt(std::byte* data, std::int64_t bytes, std::shared_ptr<void> owner) {
  if (!aliased_) {
    return false;
  }
  memory_->FreeAdopted();
  memory_->adopter = this;
  memory_->adopted = data;
  memory_->adopted_bytes = bytes;
  memory_->owner = std::move(owner);
  return true;
}

}  // namespace reprise
