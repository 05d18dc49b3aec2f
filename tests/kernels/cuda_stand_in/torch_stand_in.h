// A libtorch_cuda.so for tests without a GPU: the C interface of PyTorch's library
// (kernels/torch/torch_library.h) with tensors "on" the devices of libcuda.so.1's stand-in, which
// must be loaded before. It computes by the real libtorch_cpu.so.
//
// An operator runs at once, behind what is queued on the current stream (the innermost guard's;
// else the default one). Its new results lie in that device's memory, which is lost behind that
// stream's work when the last handle goes. A CPU tensor beside one of a device is refused, but for
// one without dimensions. Operators are those of core/operators that have a signature.
//
// Environment:
//   REPRISE_TORCH=FILE                 the real libtorch_cpu.so; read once
//   REPRISE_STAND_IN_TORCH_FAULT=OP    that operator ("aten::mm") fails
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace torch_stand_in {

constexpr std::int32_t kCpuType = 0;
constexpr std::int32_t kCudaType = 1;
constexpr int kCpuDevice = -1;  // the index of what is on no device

// The real library's function; null, with Fail's message, without it. Thread-safe.
void* RealAddress(const char* name);
template <typename Function>
Function* Real(const char* name) {
  return reinterpret_cast<Function*>(RealAddress(name));
}
// The real function's code, or 1 where it is not there.
template <typename... Arguments>
int CallReal(const char* name, Arguments... arguments) {
  auto* const function = Real<int(Arguments...)>(name);
  return function == nullptr ? 1 : function(arguments...);
}
// A function of libcuda.so.1's stand-in.
void* DriverAddress(const char* name);
template <typename Function>
Function* DriverFunction(const char* name) {
  return reinterpret_cast<Function*>(DriverAddress(name));
}

// What the calling thread's last failure was, when it was the stand-in's own; else empty. Fail
// returns 1.
std::string& OwnFailure();
int Fail(const std::string& why);
// The index where the type is CUDA's, kCpuDevice for the CPU; false, with Fail's message, for a
// device that is not there.
bool DeviceOf(std::int32_t type, std::int32_t index, int& device);

// What is known of a tensor's handle beside what the real library knows.
struct Tracked {
  int device = kCpuDevice;
  std::shared_ptr<void> memory;  // of a result; null for the caller's
};

// Every live handle that this library gave. Thread-safe.
void Track(void* handle, Tracked tracked);
Tracked Find(const void* handle);
// Afterwards its memory may be gone.
void Forget(const void* handle);

// The storage of a tensor; no bytes for an undefined one.
struct Storage {
  std::byte* begin = nullptr;
  std::int64_t bytes = 0;

  [[nodiscard]] bool Has(const std::byte* address) const {
    return address >= begin && address < begin + bytes;
  }
};
Storage StorageOf(void* handle);
// The tensor in new memory of the device in place of `handle`, which is deleted; `with_values`
// copies what it holds. 0 or 1.
int Move(void** handle, int device, bool with_values);

// The stream that operators of the device run on, on this thread.
void* CurrentStream(int device);

// One call of an operator.
struct Call {
  std::string name;
  std::vector<void*> tensors;
  bool takes_tensors = false;    // the real function deletes the handles
  bool may_mix_devices = false;  // a copy
};
// Runs `real`, whose new tensors are then in `results`, as this file's head says. 0, or 1 with a
// message.
int Run(const Call& call, const std::function<int()>& real, const std::vector<void**>& results);

}  // namespace torch_stand_in
