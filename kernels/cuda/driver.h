// NVIDIA's driver through its C interface (CUDA Driver API, docs.nvidia.com/cuda/cuda-driver-api),
// opened at run time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "core/result.h"
#include "kernels/shared_library.h"

namespace reprise {

using CudaAddress = unsigned long long;  // CUdeviceptr
using CudaHandle = void*;                // CUcontext, CUstream, CUevent, CUmodule, CUfunction
using CudaUuid = char[16];

// Numbers of the interface.
inline constexpr int kCudaNotReady = 600;
inline constexpr unsigned int kCudaOwnQueue = 1;     // CU_STREAM_NON_BLOCKING
inline constexpr unsigned int kCudaWithoutTime = 2;  // CU_EVENT_DISABLE_TIMING

// X(member, symbol, type)
#define REPRISE_CUDA_FUNCTIONS(X)                                                                 \
  X(init, "cuInit", int(unsigned int))                                                            \
  X(version, "cuDriverGetVersion", int(int*))                                                     \
  X(count, "cuDeviceGetCount", int(int*))                                                         \
  X(device, "cuDeviceGet", int(int*, int))                                                        \
  X(name, "cuDeviceGetName", int(char*, int, int))                                                \
  X(uuid, "cuDeviceGetUuid_v2", int(char*, int))                                                  \
  X(pci_bus_id, "cuDeviceGetPCIBusId", int(char*, int, int))                                      \
  X(attribute, "cuDeviceGetAttribute", int(int*, int, int))                                       \
  X(memory, "cuDeviceTotalMem_v2", int(std::size_t*, int))                                        \
  X(retain_context, "cuDevicePrimaryCtxRetain", int(CudaHandle*, int))                            \
  X(release_context, "cuDevicePrimaryCtxRelease_v2", int(int))                                    \
  X(use_context, "cuCtxSetCurrent", int(CudaHandle))                                              \
  X(allocate, "cuMemAlloc_v2", int(CudaAddress*, std::size_t))                                    \
  X(free, "cuMemFree_v2", int(CudaAddress))                                                       \
  X(allocate_host, "cuMemHostAlloc", int(void**, std::size_t, unsigned int))                      \
  X(free_host, "cuMemFreeHost", int(void*))                                                       \
  X(upload, "cuMemcpyHtoDAsync_v2", int(CudaAddress, const void*, std::size_t, CudaHandle))       \
  X(download, "cuMemcpyDtoHAsync_v2", int(void*, CudaAddress, std::size_t, CudaHandle))           \
  X(copy, "cuMemcpyDtoDAsync_v2", int(CudaAddress, CudaAddress, std::size_t, CudaHandle))         \
  X(fill8, "cuMemsetD8Async", int(CudaAddress, unsigned char, std::size_t, CudaHandle))           \
  X(fill16, "cuMemsetD16Async", int(CudaAddress, unsigned short, std::size_t, CudaHandle))        \
  X(fill32, "cuMemsetD32Async", int(CudaAddress, unsigned int, std::size_t, CudaHandle))          \
  X(create_stream, "cuStreamCreate", int(CudaHandle*, unsigned int))                              \
  X(destroy_stream, "cuStreamDestroy_v2", int(CudaHandle))                                        \
  X(finish_stream, "cuStreamSynchronize", int(CudaHandle))                                        \
  X(wait_event, "cuStreamWaitEvent", int(CudaHandle, CudaHandle, unsigned int))                   \
  X(create_event, "cuEventCreate", int(CudaHandle*, unsigned int))                                \
  X(record_event, "cuEventRecord", int(CudaHandle, CudaHandle))                                   \
  X(query_event, "cuEventQuery", int(CudaHandle))                                                 \
  X(finish_event, "cuEventSynchronize", int(CudaHandle))                                          \
  X(elapsed_ms, "cuEventElapsedTime", int(float*, CudaHandle, CudaHandle))                        \
  X(destroy_event, "cuEventDestroy_v2", int(CudaHandle))                                          \
  X(load_module, "cuModuleLoadDataEx", int(CudaHandle*, const void*, unsigned int, int*, void**)) \
  X(function, "cuModuleGetFunction", int(CudaHandle*, CudaHandle, const char*))                   \
  X(launch, "cuLaunchKernel",                                                                     \
    int(CudaHandle, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int,         \
        unsigned int, unsigned int, CudaHandle, void**, void**))                                  \
  X(error_name, "cuGetErrorName", int(int, const char**))                                         \
  X(error_text, "cuGetErrorString", int(int, const char**))

// Thread-safe. Every function returns the interface's code, 0 for success.
class CudaDriver {
 public:
  // The process' one, initialised. Environment error where there is no driver, or it does not work.
  [[nodiscard]] static Result<const CudaDriver*> Get();
  // Environment error with the driver's words.
  [[nodiscard]] Status Check(int code, std::string_view what) const;

#define REPRISE_DECLARE(member, symbol, ...) std::add_pointer_t<__VA_ARGS__> member = nullptr;
  REPRISE_CUDA_FUNCTIONS(REPRISE_DECLARE)
#undef REPRISE_DECLARE

 private:
  CudaDriver() = default;
  static Result<CudaDriver> Open();
};

}  // namespace reprise
