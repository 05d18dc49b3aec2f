#include "tests/kernels/cuda_stand_in/arena.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>
#include <vector>

namespace cuda_stand_in {
namespace {

constexpr std::size_t kPageBytes = 4096;
constexpr std::size_t kReservedBytes = std::size_t{1} << 40;
// Freed memory that stays as it is: later reads find poison, not an invalid page.
constexpr std::size_t kReadableBytes = std::size_t{256} << 20;
constexpr std::size_t kReadableCount = 4096;

std::size_t PagesOf(std::size_t bytes) {
  return (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
}

}  // namespace

Allocation* Arena::Allocate(std::size_t bytes, int device, MemoryKind kind) {
  const std::size_t pages = PagesOf(bytes);
  if (end_ - next_ < pages + kPageBytes) {
    const std::size_t reserve = std::max(kReservedBytes, pages + kPageBytes);
    void* const at =
        mmap(nullptr, reserve, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) {
      return nullptr;
    }
    next_ = reinterpret_cast<std::uintptr_t>(at);
    end_ = next_ + reserve;
  }
  auto* const memory = std::bit_cast<void*>(next_);
  if (mprotect(memory, pages, PROT_READ | PROT_WRITE) != 0) {
    return nullptr;
  }
  std::memset(memory, kPoison, pages);
  Allocation& made = allocations_[next_];
  made = {.begin = next_, .bytes = bytes, .device = device, .kind = kind};
  next_ += pages + kPageBytes;
  used_bytes_[device] += kind == MemoryKind::kHost ? 0 : bytes;
  return &made;
}

bool Arena::Free(std::uintptr_t begin) {
  Allocation& freed = allocations_.at(begin);
  const bool is_whole = std::all_of(freed.data() + freed.bytes, freed.data() + PagesOf(freed.bytes),
                                    [](std::byte one) { return one == std::byte{kPoison}; });
  if (!is_whole) {
    fmt::print(stderr,
               "stand-in GPU: something was written behind the allocation {:#x}, {} bytes\n", begin,
               freed.bytes);
  }
  freed.is_freed = true;
  used_bytes_[freed.device] -= freed.kind == MemoryKind::kHost ? 0 : freed.bytes;
  freed.buffer.reset();
  std::memset(freed.data(), kPoison, PagesOf(freed.bytes));
  readable_.push_back(begin);
  readable_bytes_ += PagesOf(freed.bytes);
  Forget();
  return is_whole;
}

void Arena::Forget() {
  while (readable_bytes_ > kReadableBytes || readable_.size() > kReadableCount) {
    const Allocation& oldest = allocations_.at(readable_.front());
    const std::size_t pages = PagesOf(oldest.bytes);
    madvise(oldest.data(), pages, MADV_DONTNEED);
    mprotect(oldest.data(), pages, PROT_NONE);
    readable_bytes_ -= pages;
    readable_.pop_front();
  }
}

void Arena::FreeAll(int device) {
  std::vector<std::uintptr_t> live;
  for (const auto& [begin, allocation] : allocations_) {
    if (!allocation.is_freed && allocation.device == device) {
      live.push_back(begin);
    }
  }
  for (const std::uintptr_t begin : live) {
    Free(begin);
  }
}

Allocation* Arena::Find(std::uintptr_t address) {
  auto it = allocations_.upper_bound(address);
  if (it == allocations_.begin()) {
    return nullptr;
  }
  Allocation& found = (--it)->second;
  return address - found.begin < std::max<std::size_t>(found.bytes, 1) ? &found : nullptr;
}

std::string Arena::WhyNot(std::uintptr_t address, std::size_t bytes, int device) {
  const Allocation* found = Find(address);
  if (found == nullptr) {
    return fmt::format("{:#x} is in no allocation", address);
  }
  const std::size_t left = found->bytes - (address - found->begin);
  if (found->is_freed) {
    return fmt::format("{:#x} is in memory that was freed: {:#x}, {} bytes", address, found->begin,
                       found->bytes);
  }
  if (found->device != device && found->kind != MemoryKind::kHost) {
    return fmt::format("{:#x} is memory of device {}, and this is device {}", address,
                       found->device, device);
  }
  if (bytes > left) {
    return fmt::format(
        "{} bytes from {:#x} on are more than the {} left of the allocation {:#x}, {} bytes", bytes,
        address, left, found->begin, found->bytes);
  }
  return {};
}

}  // namespace cuda_stand_in
