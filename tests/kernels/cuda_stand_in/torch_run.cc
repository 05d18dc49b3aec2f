// How an operator runs: streams, devices and results.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "tests/kernels/cuda_stand_in/torch_stand_in.h"

namespace torch_stand_in {
namespace {

struct Guard {
  void* stream;
  int device;
};

// Of the thread, innermost last.
std::vector<Guard*>& Guards() {
  static thread_local std::vector<Guard*> guards;
  return guards;
}

// An argument's storage, and what keeps its memory.
struct Owned {
  Storage storage;
  std::shared_ptr<void> memory;
};

// The one device of the call's tensors; kCpuDevice if all are on the CPU. False with a message
// where they differ.
bool CommonDevice(const Call& call, int& device) {
  device = kCpuDevice;
  bool has_cpu = false;
  for (void* const tensor : call.tensors) {
    const int found = Find(tensor).device;
    if (found == kCpuDevice) {
      // PyTorch takes a CPU tensor without dimensions for a number; one that is not defined is
      // none.
      bool is_defined = false;
      std::int64_t dim = 0;
      has_cpu =
          has_cpu || (CallReal("aoti_torch_is_defined", tensor, &is_defined) == 0 && is_defined &&
                      CallReal("aoti_torch_get_dim", tensor, &dim) == 0 && dim > 0);
    } else if (device != kCpuDevice && device != found) {
      return Fail(fmt::format("Expected all tensors to be on the same device, but found at least "
                              "two devices, cuda:{} and cuda:{}!",
                              device, found)) == 0;
    } else {
      device = found;
    }
  }
  if (device != kCpuDevice && has_cpu && !call.may_mix_devices) {
    return Fail(fmt::format("Expected all tensors to be on the same device, but found at least two "
                            "devices, cuda:{} and cpu!",
                            device)) == 0;
  }
  return true;
}

// What is queued before the operator, and whether it may touch its arguments.
int Drain(void* stream, const std::vector<Owned>& arguments, const std::string& name) {
  auto* const drain = DriverFunction<int(void*)>("reprise_stand_in_drain");
  auto* const touch =
      DriverFunction<int(void*, const void*, std::size_t)>("reprise_stand_in_touch");
  int code = drain == nullptr || touch == nullptr ? 1 : drain(stream);
  for (const Owned& argument : arguments) {
    code = code == 0 && argument.storage.bytes > 0
               ? touch(stream, argument.storage.begin, argument.storage.bytes)
               : code;
  }
  return code == 0 ? 0 : Fail(fmt::format("CUDA error {} before {}", code, name));
}

// A result that is new goes to the device's memory; one that lies in an argument's stays there.
int KeepOnDevice(void** result, int device, const std::vector<Owned>& owned) {
  const Storage storage = StorageOf(*result);
  const auto it =
      std::ranges::find_if(owned, [&](const Owned& one) { return one.storage.Has(storage.begin); });
  if (it != owned.end()) {
    Track(*result, {device, it->memory});
    return 0;
  }
  return Move(result, device, true);
}

}  // namespace

void* CurrentStream(int device) {
  const auto& guards = Guards();
  const auto it = std::find_if(guards.rbegin(), guards.rend(),
                               [&](const Guard* guard) { return guard->device == device; });
  return it == guards.rend() ? nullptr : (*it)->stream;
}

int Run(const Call& call, const std::function<int()>& real, const std::vector<void**>& results) {
  int device = kCpuDevice;
  std::vector<Owned> owned;
  for (void* const tensor : call.tensors) {
    const Tracked tracked = Find(tensor);
    if (tracked.device != kCpuDevice) {
      owned.push_back({StorageOf(tensor), tracked.memory});
    }
  }
  const char* const fault = std::getenv("REPRISE_STAND_IN_TORCH_FAULT");
  int code = CommonDevice(call, device) ? 0 : 1;
  void* const stream = device == kCpuDevice ? nullptr : CurrentStream(device);
  if (code == 0 && fault != nullptr && call.name == fault) {
    code = Fail(call.name + " fails, as REPRISE_STAND_IN_TORCH_FAULT asks");
  }
  if (code == 0 && device != kCpuDevice) {
    code = Drain(stream, owned, call.name);
  }
  const std::set<void*> taken = call.takes_tensors
                                    ? std::set<void*>(call.tensors.begin(), call.tensors.end())
                                    : std::set<void*>();
  for (void* const tensor : taken) {
    Forget(tensor);  // before another thread may get the handle; `owned` keeps the memory
  }
  if (code == 0) {
    code = real();
  } else {
    const std::string failure = OwnFailure();  // the function below would clear it
    for (void* const tensor : taken) {
      CallReal("aoti_torch_delete_tensor_object", tensor);
    }
    OwnFailure() = failure;
  }
  if (code != 0 || device == kCpuDevice) {
    return code;
  }
  if (auto* const log = DriverFunction<int(void*, const char*)>("reprise_stand_in_log")) {
    log(stream, ("torch " + call.name).c_str());
  }
  for (void** const result : results) {
    code = code == 0 ? KeepOnDevice(result, device, owned) : code;
  }
  return code;
}

}  // namespace torch_stand_in

using namespace torch_stand_in;  // NOLINT(google-build-using-namespace)

extern "C" {

int aoti_torch_create_cuda_stream_guard(void* stream, std::int32_t device_index, void** made) {
  int device = 0;
  if (!DeviceOf(kCudaType, device_index, device)) {
    return 1;
  }
  auto* const guard = new Guard{stream, device};
  Guards().push_back(guard);
  return *made = guard, 0;
}

int aoti_torch_delete_cuda_stream_guard(void* handle) {
  if (Guards().empty() || Guards().back() != handle) {
    return Fail("a stream guard is deleted that is not this thread's innermost one");
  }
  delete Guards().back();
  Guards().pop_back();
  return 0;
}

int aoti_torch_get_current_cuda_stream(std::int32_t device_index, void** stream) {
  int device = 0;
  return DeviceOf(kCudaType, device_index, device) ? (*stream = CurrentStream(device), 0) : 1;
}
}
