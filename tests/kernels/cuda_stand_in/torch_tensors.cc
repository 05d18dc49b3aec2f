// Tensors: which device each is on, and the memory of results.
#include <fmt/format.h>

#include <cstring>
#include <map>
#include <mutex>

#include "tests/kernels/cuda_stand_in/torch_stand_in.h"

namespace torch_stand_in {
namespace {

struct Handles {
  std::mutex mutex;
  std::map<const void*, Tracked> tracked;
};

// Never destroyed: tensors may outlive it.
Handles& TheHandles() {
  static auto& handles = *new Handles;
  return handles;
}

// For a result on the stream. Null without memory.
std::shared_ptr<void> NewMemory(std::int64_t bytes, void* stream) {
  auto* const allocate = DriverFunction<void*(std::size_t)>("reprise_stand_in_alloc");
  auto* const free_memory = DriverFunction<void(void*, void*)>("reprise_stand_in_free");
  void* const memory = allocate == nullptr || free_memory == nullptr ? nullptr : allocate(bytes);
  return memory == nullptr ? nullptr
                           : std::shared_ptr<void>(memory, [free_memory, stream](void* freed) {
                               free_memory(stream, freed);
                             });
}

}  // namespace

void Track(void* handle, Tracked tracked) {
  const std::lock_guard lock(TheHandles().mutex);
  TheHandles().tracked[handle] = std::move(tracked);
}

Tracked Find(const void* handle) {
  const std::lock_guard lock(TheHandles().mutex);
  const auto it = TheHandles().tracked.find(handle);
  return it == TheHandles().tracked.end() ? Tracked() : it->second;
}

void Forget(const void* handle) {
  Tracked last;  // freed without the lock
  const std::lock_guard lock(TheHandles().mutex);
  const auto it = TheHandles().tracked.find(handle);
  if (it != TheHandles().tracked.end()) {
    last = std::move(it->second);
    TheHandles().tracked.erase(it);
  }
}

Storage StorageOf(void* handle) {
  bool is_defined = false;
  std::int64_t offset = 0;
  std::int64_t bytes = 0;
  std::int32_t type = 0;
  void* data = nullptr;
  auto* const size_of = Real<std::size_t(std::int32_t)>("aoti_torch_dtype_element_size");
  if (size_of == nullptr || CallReal("aoti_torch_is_defined", handle, &is_defined) != 0 ||
      !is_defined || CallReal("aoti_torch_get_storage_size", handle, &bytes) != 0 ||
      CallReal("aoti_torch_get_storage_offset", handle, &offset) != 0 ||
      CallReal("aoti_torch_get_dtype", handle, &type) != 0 ||
      CallReal("aoti_torch_get_data_ptr", handle, &data) != 0 || data == nullptr) {
    return {};
  }
  return {static_cast<std::byte*>(data) - offset * static_cast<std::int64_t>(size_of(type)), bytes};
}

int Move(void** handle, int device, bool with_values) {
  const Storage from = StorageOf(*handle);
  Forget(*handle);  // before another thread may get it
  if (from.bytes == 0) {
    Track(*handle, {device, nullptr});
    return 0;
  }
  const std::shared_ptr<void> memory = NewMemory(from.bytes, CurrentStream(device));
  if (memory == nullptr) {
    return Fail(fmt::format("CUDA out of memory: {} bytes", from.bytes));
  }
  if (with_values) {
    std::memcpy(memory.get(), from.begin, from.bytes);
  }
  std::int64_t dim = 0;
  std::int64_t offset = 0;
  std::int64_t* sizes = nullptr;
  std::int64_t* strides = nullptr;
  std::int32_t type = 0;
  void* moved = nullptr;
  if (CallReal("aoti_torch_get_dim", *handle, &dim) != 0 ||
      CallReal("aoti_torch_get_storage_offset", *handle, &offset) != 0 ||
      CallReal("aoti_torch_get_sizes", *handle, &sizes) != 0 ||
      CallReal("aoti_torch_get_strides", *handle, &strides) != 0 ||
      CallReal("aoti_torch_get_dtype", *handle, &type) != 0 ||
      CallReal("aoti_torch_create_tensor_from_blob", memory.get(), dim,
               static_cast<const std::int64_t*>(sizes), static_cast<const std::int64_t*>(strides),
               offset, type, kCpuType, std::int32_t{0}, &moved) != 0 ||
      CallReal("aoti_torch_delete_tensor_object", *handle) != 0) {
    return 1;
  }
  *handle = moved;
  Track(moved, {device, memory});
  return 0;
}

}  // namespace torch_stand_in
