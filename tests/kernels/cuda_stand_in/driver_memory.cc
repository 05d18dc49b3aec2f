// Memory, copies and fills.
#include <fmt/format.h>

#include <bit>
#include <cstddef>
#include <cstring>

#include "tests/kernels/cuda_stand_in/cuda_stand_in.h"
#include "tests/kernels/cuda_stand_in/gpu.h"

using namespace cuda_stand_in;  // NOLINT(google-build-using-namespace)

namespace {

Arena& Memory() { return Gpu::Get().arena(); }

std::byte* At(DevicePointer address) { return std::bit_cast<std::byte*>(address); }

// Null if the device has no more.
Allocation* AllocateOn(Context& context, std::size_t bytes, MemoryKind kind) {
  const bool fits =
      bytes <= Gpu::kMemoryBytes && Memory().UsedBytes(context.device) <= Gpu::kMemoryBytes - bytes;
  return fits || kind == MemoryKind::kHost ? Memory().Allocate(bytes, context.device, kind)
                                           : nullptr;
}

// Of one kind, by its first address. Waits for all that is queued, as the driver does.
int FreeOf(std::uintptr_t address, MemoryKind kind) {
  return InContext([&](Context& context) -> int {
    const Allocation* found = Memory().Find(address);
    if (found == nullptr || found->begin != address || found->is_freed || found->kind != kind ||
        found->device != context.device) {
      return Gpu::Refuse(
          kInvalidValue,
          fmt::format("{:#x} is to be freed, and is no live allocation of the current context",
                      address));
    }
    const Code failed = Gpu::Get().RunAll(context);
    // A GPU would not see it; nobody else would, either.
    context.error = Memory().Free(address) || failed != kOk ? failed : kIllegalAddress;
    return context.error;
  });
}

// What is wrong with host memory: only memory of cuMemHostAlloc is known.
std::string WhyNotHost(const void* host, std::size_t bytes) {
  const auto address = reinterpret_cast<std::uintptr_t>(host);
  const Allocation* found = Memory().Find(address);
  if (found != nullptr && found->kind != MemoryKind::kHost && !found->is_freed) {
    return fmt::format("{:#x} is given as host memory, and is a device's", address);
  }
  return found == nullptr ? std::string() : Memory().WhyNot(address, bytes, found->device);
}

std::string WhyNotDevice(DevicePointer address, std::size_t bytes, const Stream& stream) {
  const Allocation* found = Memory().Find(address);
  if (found != nullptr && found->kind == MemoryKind::kHost && !found->is_freed) {
    return fmt::format("{:#x} is given as memory of a device, and is the host's", address);
  }
  return Memory().WhyNot(address, bytes, stream.context->device);
}

// `why(stream)`: what is wrong when the copy is executed.
template <typename Why>
int Copy(void* stream_handle, const char* direction, std::byte* to, const std::byte* from,
         std::size_t bytes, Why why) {
  return InStream(stream_handle, [&](Stream& stream) -> int {
    if (bytes == 0) {
      return kOk;
    }
    return Gpu::Get().Enqueue(
        stream, {[=](Stream& at) {
          std::string wrong = why(at);
          if (!wrong.empty()) {
            return fmt::format("copy {}: {}", direction, wrong);
          }
          std::memmove(to, from, bytes);
          LogOperation(at.number, fmt::format("copy {} to {} from {} bytes {}", direction,
                                              fmt::ptr(to), fmt::ptr(from), bytes));
          return wrong;
        }});
  });
}

// `count` elements at a multiple of their size.
template <typename Element>
int Fill(void* stream_handle, DevicePointer to, Element value, std::size_t count) {
  return InStream(stream_handle, [&](Stream& stream) -> int {
    if (to % sizeof(Element) != 0) {
      return Gpu::Refuse(kInvalidValue, fmt::format("fill: {:#x} is no multiple of {} bytes", to,
                                                    sizeof(Element)));
    }
    if (count == 0) {
      return kOk;
    }
    const std::size_t bytes = count * sizeof(Element);
    return Gpu::Get().Enqueue(
        stream, {[=](Stream& at) {
          std::string wrong = WhyNotDevice(to, bytes, at);
          if (!wrong.empty()) {
            return "fill: " + wrong;
          }
          std::fill_n(reinterpret_cast<Element*>(At(to)), count, value);
          LogOperation(at.number, fmt::format("fill to {} bytes {}", fmt::ptr(At(to)), bytes));
          return wrong;
        }});
  });
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): the driver's names.
extern "C" {

int cuMemAlloc_v2(DevicePointer* address, std::size_t bytes) {
  return InContext([&](Context& context) -> int {
    if (address == nullptr || bytes == 0) {
      return Gpu::Refuse(kInvalidValue,
                         "an allocation of 0 bytes, or without a place for its address");
    }
    const bool fails = Gpu::Get().faults().AllocationFails();
    const Allocation* made = fails ? nullptr : AllocateOn(context, bytes, MemoryKind::kDevice);
    return made == nullptr ? kOutOfMemory : (*address = made->begin, kOk);
  });
}

int cuMemFree_v2(DevicePointer address) {
  return address == 0 ? kOk : FreeOf(address, MemoryKind::kDevice);
}

int cuMemGetInfo_v2(std::size_t* free_bytes, std::size_t* total_bytes) {
  return InContext([&](Context& context) {
    *free_bytes = Gpu::kMemoryBytes - Memory().UsedBytes(context.device);
    *total_bytes = Gpu::kMemoryBytes;
    return kOk;
  });
}

int cuMemHostAlloc(void** memory, std::size_t bytes, unsigned /*flags*/) {
  return InContext([&](Context& context) -> int {
    if (memory == nullptr || bytes == 0) {
      return Gpu::Refuse(kInvalidValue,
                         "host memory of 0 bytes, or without a place for its address");
    }
    const Allocation* made = AllocateOn(context, bytes, MemoryKind::kHost);
    return made == nullptr ? kOutOfMemory : (*memory = made->data(), kOk);
  });
}

int cuMemFreeHost(void* memory) {
  return FreeOf(reinterpret_cast<std::uintptr_t>(memory), MemoryKind::kHost);
}

int cuMemcpyHtoDAsync_v2(DevicePointer to, const void* from, std::size_t bytes, void* stream) {
  return Copy(stream, "up", At(to), static_cast<const std::byte*>(from), bytes,
              [=](const Stream& at) {
                std::string wrong = WhyNotDevice(to, bytes, at);
                return wrong.empty() ? WhyNotHost(from, bytes) : wrong;
              });
}

int cuMemcpyDtoHAsync_v2(void* to, DevicePointer from, std::size_t bytes, void* stream) {
  return Copy(stream, "down", static_cast<std::byte*>(to), At(from), bytes, [=](const Stream& at) {
    std::string wrong = WhyNotDevice(from, bytes, at);
    return wrong.empty() ? WhyNotHost(to, bytes) : wrong;
  });
}

int cuMemcpyDtoDAsync_v2(DevicePointer to, DevicePointer from, std::size_t bytes, void* stream) {
  return Copy(stream, "within", At(to), At(from), bytes, [=](const Stream& at) {
    std::string wrong = WhyNotDevice(to, bytes, at);
    return wrong.empty() ? WhyNotDevice(from, bytes, at) : wrong;
  });
}

int cuMemsetD8Async(DevicePointer to, unsigned char value, std::size_t count, void* stream) {
  return Fill(stream, to, value, count);
}
int cuMemsetD16Async(DevicePointer to, unsigned short value, std::size_t count,
                     void* stream) {  // NOLINT(google-runtime-int)
  return Fill(stream, to, value, count);
}
int cuMemsetD32Async(DevicePointer to, unsigned value, std::size_t count, void* stream) {
  return Fill(stream, to, value, count);
}

void* reprise_stand_in_alloc(std::size_t bytes) {
  const std::lock_guard lock(Gpu::Lock());
  if (!Gpu::Get().is_initialized() || bytes == 0) {
    return nullptr;
  }
  Context* const current = CurrentContext();
  const Allocation* made =
      AllocateOn(current == nullptr ? Gpu::Get().context(0) : *current, bytes, MemoryKind::kResult);
  return made == nullptr ? nullptr : made->data();
}

void reprise_stand_in_free(void* handle, void* memory) {
  const std::lock_guard lock(Gpu::Lock());
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  const Allocation* found = Memory().Find(address);
  // It may be gone with its context already.
  if (found == nullptr || found->is_freed || found->kind != MemoryKind::kResult) {
    return;
  }
  Context& context = Gpu::Get().context(found->device);
  Stream* const stream = Gpu::StreamOf(context, handle);
  if (stream == nullptr || context.error != kOk) {
    Memory().Free(address);
    return;
  }
  (void)Gpu::Get().Enqueue(*stream, {.run = [address](Stream&) -> std::string {
    const Allocation* at = Memory().Find(address);
    if (at != nullptr && !at->is_freed) {
      Memory().Free(address);
    }
    return "";
  }});
}
}
// NOLINTEND(readability-identifier-naming)
