#include "kernels/host/host_buffer.h"

#include <cstdlib>
#include <utility>

namespace reprise {
namespace {

constexpr std::size_t kCacheLineBytes = 64;

struct FreeBlock {
  void operator()(void* memory) const { std::free(memory); }
};

class HostBytes final : public AdoptingMemory {
 public:
  HostBytes(std::int64_t bytes, std::shared_ptr<FreshMemory> fresh)
      : AdoptingMemory(bytes), fresh_(std::move(fresh)) {
    std::size_t room = static_cast<std::size_t>(bytes) + kCacheLineBytes;
    whole_.reset(std::calloc(room, 1));  // untouched pages then cost nothing
    void* first = whole_.get();
    data_ = first == nullptr ? nullptr
                             : static_cast<std::byte*>(std::align(
                                   kCacheLineBytes, static_cast<std::size_t>(bytes), first, room));
  }
  [[nodiscard]] bool is_there() const { return data_ != nullptr; }
  [[nodiscard]] bool has_aliases() const { return fresh_ != nullptr; }
  [[nodiscard]] Result<std::byte*> Own() override { return data_; }
  // Another tensor may still share the memory.
  void Free(AdoptedBytes result) override {
    if (result.owner.use_count() == 1) {
      fresh_->BeforeFree(result.data, result.bytes);
    }
  }

 private:
  std::unique_ptr<void, FreeBlock> whole_;
  std::byte* data_ = nullptr;
  std::shared_ptr<FreshMemory> fresh_;  // null: no aliases
};

}  // namespace

Result<std::unique_ptr<HostBuffer>> HostBuffer::Allocate(std::int64_t bytes,
                                                         std::shared_ptr<FreshMemory> fresh) {
  if (bytes < 0) {
    return UsageError("a buffer of negative size was asked for");
  }
  auto memory = std::make_shared<HostBytes>(bytes, std::move(fresh));
  if (!memory->is_there()) {
    return EnvironmentError("out of host memory: " + std::to_string(bytes) + " bytes");
  }
  return std::unique_ptr<HostBuffer>(new HostBuffer(std::move(memory), false, false));
}

std::unique_ptr<Buffer> HostBuffer::Alias(bool only_tasks) {
  return static_cast<const HostBytes&>(*memory()).has_aliases()
             ? std::unique_ptr<Buffer>(new HostBuffer(memory(), true, only_tasks))
             : nullptr;
}

}  // namespace reprise
