// The stand-ins as tests call them: opened as a backend opens the real ones.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/kernels/cuda_stand_in/driver_types.h"

namespace cuda_stand_in {

class OpenedLibrary {
 public:
  explicit OpenedLibrary(const char* path) : library_(dlopen(path, RTLD_NOW | RTLD_GLOBAL)) {}

  // Null if the library has no such function.
  template <typename Function>
  Function* Find(const char* name) const {
    return library_ == nullptr ? nullptr : reinterpret_cast<Function*>(dlsym(library_, name));
  }
  // The library's function `name`, of these arguments.
  template <typename... Arguments>
  int operator()(const char* name, Arguments... arguments) const {
    auto* const function = Find<int(Arguments...)>(name);
    if (function == nullptr) {
      ADD_FAILURE() << "no function " << name;
      return kUnknown;
    }
    return function(arguments...);
  }

 private:
  void* library_;
};

// With a context of device 0 that is current, and released at the end: what a test does to it ends
// with the test.
class WithDriver : public testing::Test {
 protected:
  void SetUp() override {
    SetFault("");
    ASSERT_EQ(Call("cuDevicePrimaryCtxRetain", &context_, 0), kOk);
    ASSERT_EQ(Call("cuCtxSetCurrent", context_), kOk);
  }
  void TearDown() override {
    Call("cuCtxSetCurrent", static_cast<void*>(nullptr));
    Call("cuDevicePrimaryCtxRelease_v2", 0);
    unsetenv("REPRISE_STAND_IN_FAULT");
  }

  template <typename... Arguments>
  static int Call(const char* name, Arguments... arguments) {
    return TheDriver()(name, arguments...);
  }
  static const OpenedLibrary& TheDriver() {
    static const OpenedLibrary driver(STAND_IN_CUDA);
    return driver;
  }
  // cuInit's code.
  static int SetFault(const std::string& fault) {
    setenv("REPRISE_STAND_IN_FAULT", fault.c_str(), 1);
    return Call("cuInit", 0U);
  }

  static void* NewStream() {
    void* stream = nullptr;
    EXPECT_EQ(Call("cuStreamCreate", &stream, kStreamNonBlocking), kOk);
    return stream;
  }
  static void* NewEvent(unsigned flags = kEventDisableTiming) {
    void* event = nullptr;
    EXPECT_EQ(Call("cuEventCreate", &event, flags), kOk);
    return event;
  }
  static DevicePointer NewMemory(std::size_t bytes) {
    DevicePointer address = 0;
    EXPECT_EQ(Call("cuMemAlloc_v2", &address, bytes), kOk);
    return address;
  }
  static int Synchronize(void* stream) { return Call("cuStreamSynchronize", stream); }
  static int Upload(DevicePointer to, const void* from, std::size_t bytes, void* stream) {
    return Call("cuMemcpyHtoDAsync_v2", to, from, bytes, stream);
  }
  static int Download(void* to, DevicePointer from, std::size_t bytes, void* stream) {
    return Call("cuMemcpyDtoHAsync_v2", to, from, bytes, stream);
  }
  // What the stream has once all before it has run.
  template <typename T>
  static std::vector<T> Read(DevicePointer from, std::size_t count, void* stream) {
    std::vector<T> values(count);
    EXPECT_EQ(Download(values.data(), from, count * sizeof(T), stream), kOk);
    EXPECT_EQ(Synchronize(stream), kOk);
    return values;
  }

  void* context_ = nullptr;
};

}  // namespace cuda_stand_in
