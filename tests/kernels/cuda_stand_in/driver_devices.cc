// Devices, contexts and names of errors.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string_view>

#include "tests/kernels/cuda_stand_in/gpu.h"

using namespace cuda_stand_in;  // NOLINT(google-build-using-namespace)

namespace {

constexpr int kDriverVersion = 12040;
constexpr std::size_t kUuidBytes = 16;

int OfDevice(int device, bool has_result, const std::function<int(Context&)>& body) {
  return Enter([&]() -> int {
    if (device < 0 || device >= Gpu::Get().device_count()) {
      return Gpu::Refuse(kInvalidDevice, fmt::format("there is no device {}", device));
    }
    return has_result ? body(Gpu::Get().context(device)) : static_cast<int>(kInvalidValue);
  });
}

// As the driver does: cut, and with an end.
int CopyText(std::string_view text, char* to, int length) {
  if (length <= 0) {
    return kInvalidValue;
  }
  const std::size_t count = std::min<std::size_t>(text.size(), length - 1);
  std::memcpy(to, text.data(), count);
  to[count] = '\0';
  return kOk;
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): the driver's names.
extern "C" {

int cuInit(unsigned flags) {
  const std::lock_guard lock(Gpu::Lock());
  return flags != 0 ? kInvalidValue : Gpu::Get().Initialize();
}

int cuDriverGetVersion(int* version) {
  return version == nullptr ? kInvalidValue : (*version = kDriverVersion, kOk);
}

int cuGetErrorName(int code, const char** name) {
  switch (code) {
#define CUDA_STAND_IN_NAME(member, number, text, ...) \
  case number:                                        \
    return *name = text, kOk;
    CUDA_STAND_IN_CODES(CUDA_STAND_IN_NAME)
#undef CUDA_STAND_IN_NAME
    default:
      return *name = nullptr, kInvalidValue;
  }
}

int cuGetErrorString(int code, const char** text) {
  switch (code) {
#define CUDA_STAND_IN_TEXT(member, number, name, says) \
  case number:                                         \
    return *text = says, kOk;
    CUDA_STAND_IN_CODES(CUDA_STAND_IN_TEXT)
#undef CUDA_STAND_IN_TEXT
    default:
      return *text = nullptr, kInvalidValue;
  }
}

int cuDeviceGetCount(int* count) {
  return Enter(
      [&] { return count == nullptr ? kInvalidValue : (*count = Gpu::Get().device_count(), kOk); });
}

int cuDeviceGet(int* device, int ordinal) {
  return OfDevice(ordinal, device != nullptr,
                  [&](Context& context) { return *device = context.device, kOk; });
}

int cuDeviceGetName(char* name, int length, int device) {
  return OfDevice(device, name != nullptr,
                  [&](Context&) { return CopyText("Stand-in GPU", name, length); });
}

int cuDeviceGetUuid_v2(void* uuid, int device) {
  return OfDevice(device, uuid != nullptr, [&](Context&) {
    auto* const bytes = static_cast<unsigned char*>(uuid);
    for (std::size_t i = 0; i < kUuidBytes; ++i) {
      bytes[i] = static_cast<unsigned char>(0x10 * device + i);
    }
    return kOk;
  });
}

int cuDeviceGetPCIBusId(char* id, int length, int device) {
  return OfDevice(device, id != nullptr, [&](Context&) {
    return CopyText(fmt::format("0000:{:02X}:00.0", device + 1), id, length);
  });
}

int cuDeviceGetAttribute(int* value, int attribute, int device) {
  return OfDevice(device, value != nullptr, [&](Context&) -> int {
    switch (attribute) {
      case kMaxThreadsPerBlock:
        return *value = 1024, kOk;
      case kMaxSharedMemoryPerBlock:
        return *value = 48 << 10, kOk;
      case kMultiprocessorCount:
        return *value = 4, kOk;
      case kComputeCapabilityMajor:
        return *value = 8, kOk;
      case kComputeCapabilityMinor:
        return *value = 0, kOk;
      default:
        return Gpu::Refuse(kInvalidValue,
                           fmt::format("device attribute {} has no value here", attribute));
    }
  });
}

int cuDeviceTotalMem_v2(std::size_t* bytes, int device) {
  return OfDevice(device, bytes != nullptr,
                  [&](Context&) { return *bytes = Gpu::kMemoryBytes, kOk; });
}

int cuDevicePrimaryCtxRetain(void** handle, int device) {
  return OfDevice(device, handle != nullptr, [&](Context& context) -> int {
    if (context.error != kOk) {
      return context.error;
    }
    ++context.references;
    return *handle = &context, kOk;
  });
}

int cuDevicePrimaryCtxRelease_v2(int device) {
  return OfDevice(device, true, [&](Context& context) -> int {
    if (context.references == 0) {
      return Gpu::Refuse(kInvalidContext, "the context was not retained that often");
    }
    if (--context.references == 0) {
      Gpu::Get().Reset(context);
    }
    return kOk;
  });
}

int cuCtxSetCurrent(void* handle) {
  return Enter([&]() -> int {
    for (int device = 0; device < Gpu::Get().device_count(); ++device) {
      Context& context = Gpu::Get().context(device);
      if (handle == &context && context.references > 0) {
        return CurrentContext() = &context, kOk;
      }
    }
    return handle == nullptr ? (CurrentContext() = nullptr, kOk)
                             : Gpu::Refuse(kInvalidContext, "no context that is retained");
  });
}

int cuCtxGetCurrent(void** handle) {
  return Enter(
      [&] { return handle == nullptr ? kInvalidValue : (*handle = CurrentContext(), kOk); });
}

int cuCtxSynchronize() {
  return InContext([](Context& context) { return Gpu::Get().RunAll(context); });
}
}
// NOLINTEND(readability-identifier-naming)
