// What of NVIDIA's driver interface the stand-in has: codes and numbers of
// docs.nvidia.com/cuda/cuda-driver-api.
#pragma once

#include <cstdint>

namespace cuda_stand_in {

// CUresult. X(name, number, the driver's name, what it says)
#define CUDA_STAND_IN_CODES(X)                                                           \
  X(kOk, 0, "CUDA_SUCCESS", "no error")                                                  \
  X(kInvalidValue, 1, "CUDA_ERROR_INVALID_VALUE", "invalid argument")                    \
  X(kOutOfMemory, 2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory")                        \
  X(kNotInitialized, 3, "CUDA_ERROR_NOT_INITIALIZED", "initialization error")            \
  X(kDeviceUnavailable, 46, "CUDA_ERROR_DEVICE_UNAVAILABLE",                             \
    "device(s) is/are busy or unavailable")                                              \
  X(kNoDevice, 100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected")        \
  X(kInvalidDevice, 101, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal")          \
  X(kInvalidContext, 201, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context")        \
  X(kInvalidPtx, 218, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed")          \
  X(kInvalidHandle, 400, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle")         \
  X(kNotFound, 500, "CUDA_ERROR_NOT_FOUND", "named symbol not found")                    \
  X(kNotReady, 600, "CUDA_ERROR_NOT_READY", "device not ready")                          \
  X(kIllegalAddress, 700, "CUDA_ERROR_ILLEGAL_ADDRESS",                                  \
    "an illegal memory access was encountered")                                          \
  X(kContextIsDestroyed, 709, "CUDA_ERROR_CONTEXT_IS_DESTROYED", "context is destroyed") \
  X(kLaunchFailed, 719, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure")        \
  X(kNotSupported, 801, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported")           \
  X(kSystemDriverMismatch, 803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",                     \
    "system has unsupported display driver / cuda driver combination")                   \
  X(kUnknown, 999, "CUDA_ERROR_UNKNOWN", "unknown error")

enum Code : int {
#define CUDA_STAND_IN_CODE(name, number, ...) name = number,
  CUDA_STAND_IN_CODES(CUDA_STAND_IN_CODE)
#undef CUDA_STAND_IN_CODE
};

// CUdeviceptr.
using DevicePointer = unsigned long long;  // NOLINT(google-runtime-int)

// CUdevice_attribute.
enum DeviceAttribute : int {
  kMaxThreadsPerBlock = 1,
  kMaxSharedMemoryPerBlock = 8,
  kMultiprocessorCount = 16,
  kComputeCapabilityMajor = 75,
  kComputeCapabilityMinor = 76,
};

// CUfunction_attribute.
enum FunctionAttribute : int {
  kFunctionMaxThreadsPerBlock = 0,
  kFunctionSharedBytes = 1,
  kFunctionLocalBytes = 3,
  kFunctionRegisters = 4,
  kFunctionMaxDynamicSharedBytes = 8,
  kFunctionSharedCarveout = 9,
};

// CUjit_option: what the compiler says goes to the caller's memory.
enum JitOption : int { kJitErrorLog = 5, kJitErrorLogBytes = 6 };

constexpr unsigned kEventDisableTiming = 2;
constexpr unsigned kStreamNonBlocking = 1;

}  // namespace cuda_stand_in
