// The libraries beneath: PyTorch's and the stand-in's driver.
#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

#include "tests/kernels/cuda_stand_in/torch_stand_in.h"

namespace torch_stand_in {
namespace {

void* OpenReal() {
  const char* const path = std::getenv("REPRISE_TORCH");
  if (path == nullptr || *path == '\0') {
    fmt::print(stderr,
               "stand-in PyTorch: REPRISE_TORCH is not set; it names the real libtorch_cpu.so "
               "(scripts/pytorch_library)\n");
    return nullptr;
  }
  void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) {
    fmt::print(stderr, "stand-in PyTorch: REPRISE_TORCH: {}\n", dlerror());
  }
  return library;
}

}  // namespace

std::string& OwnFailure() {
  static thread_local std::string failure;
  return failure;
}

int Fail(const std::string& why) {
  OwnFailure() = why;
  return 1;
}

void* RealAddress(const char* name) {
  static void* const library = OpenReal();
  void* const found = library == nullptr ? nullptr : dlsym(library, name);
  if (found == nullptr) {
    Fail(library == nullptr ? "the stand-in has no real PyTorch: REPRISE_TORCH"
                            : fmt::format("the real PyTorch has no {}", name));
  } else {
    OwnFailure().clear();
  }
  return found;
}

void* DriverAddress(const char* name) {
  static void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  void* const found = library == nullptr ? nullptr : dlsym(library, name);
  if (found == nullptr) {
    Fail(fmt::format("libcuda.so.1 {} {}",
                     library == nullptr ? "is not loaded, needed for" : "has no", name));
  }
  return found;
}

bool DeviceOf(std::int32_t type, std::int32_t index, int& device) {
  device = type == kCudaType ? index : kCpuDevice;
  if (type == kCpuType) {
    return true;
  }
  int count = 0;
  auto* const count_devices = DriverFunction<int(int*)>("cuDeviceGetCount");
  if (type != kCudaType || count_devices == nullptr || count_devices(&count) != 0 || index < 0 ||
      index >= count) {
    return Fail(fmt::format("device type {}, index {}: there are {} CUDA devices", type, index,
                            count)) == 0;
  }
  return true;
}

}  // namespace torch_stand_in
