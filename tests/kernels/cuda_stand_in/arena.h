// The memory of the stand-in's devices.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>

namespace cuda_stand_in {

enum class MemoryKind : std::uint8_t {
  kDevice,  // cuMemAlloc
  kResult,  // of an operator of PyTorch's
  kHost,    // cuMemHostAlloc
};

struct Allocation {
  std::uintptr_t begin = 0;
  std::size_t bytes = 0;
  int device = 0;
  MemoryKind kind = MemoryKind::kDevice;
  bool is_freed = false;
  std::shared_ptr<void> buffer;  // what Programs keeps of it

  [[nodiscard]] std::byte* data() const { return std::bit_cast<std::byte*>(begin); }
};

// Pages of this process, each allocation with a page that cannot be touched behind it. Addresses
// are never used again; what was freed last stays readable, as kPoison. Not thread-safe.
class Arena {
 public:
  static constexpr unsigned char kPoison = 0xA5;

  // Null where the process gets no more memory.
  Allocation* Allocate(std::size_t bytes, int device, MemoryKind kind);
  // `begin` of a live allocation. False, with a line on stderr, if something was written behind it.
  bool Free(std::uintptr_t begin);
  // All of a device.
  void FreeAll(int device);

  // The allocation that has the address, a freed one too; null if none ever had.
  [[nodiscard]] Allocation* Find(std::uintptr_t address);
  // Why a device may not touch these bytes; empty if it may.
  [[nodiscard]] std::string WhyNot(std::uintptr_t address, std::size_t bytes, int device);
  // Live, of the device and not of the host.
  [[nodiscard]] std::size_t UsedBytes(int device) { return used_bytes_[device]; }

 private:
  void Forget();

  std::uintptr_t next_ = 0;  // in the address range that is reserved
  std::uintptr_t end_ = 0;
  std::map<std::uintptr_t, Allocation> allocations_;  // freed ones too
  std::map<int, std::size_t> used_bytes_;             // by device
  std::deque<std::uintptr_t> readable_;               // freed ones, oldest first
  std::size_t readable_bytes_ = 0;
};

}  // namespace cuda_stand_in
