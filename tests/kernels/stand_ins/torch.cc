// A libtorch_cpu.so for the tests of --torch: the C interface with four operators in float32, and
// how many tensors are alive.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

// PyTorch's names and words.
// NOLINTBEGIN(readability-identifier-naming, performance-no-int-to-ptr)
namespace {

std::atomic<int> g_alive = 0;
std::atomic<int> g_calls = 0;
thread_local std::string g_what;

struct Tensor {
  Tensor() { ++g_alive; }
  Tensor(const Tensor& other) : Tensor() {
    memory = other.memory, first = other.first, offset = other.offset, type = other.type;
    sizes = other.sizes, strides = other.strides;
  }
  ~Tensor() { --g_alive; }

  std::shared_ptr<std::vector<float>> memory;  // null: the caller's
  float* first = nullptr;                      // of the storage
  std::int64_t offset = 0;
  std::int32_t type = 6;
  std::vector<std::int64_t> sizes, strides;

  std::int64_t count() const {
    std::int64_t n = 1;
    for (const std::int64_t size : sizes) n *= size;
    return n;
  }
  float& at(std::int64_t i) const {  // the i-th in row-major order
    std::int64_t where = offset;
    for (std::size_t d = sizes.size(); d-- > 0;) {
      where += i % sizes[d] * strides[d];
      i /= sizes[d];
    }
    return first[where];
  }
};

Tensor* As(std::uint64_t word) { return reinterpret_cast<Tensor*>(word); }
Tensor* As(void* handle) { return static_cast<Tensor*>(handle); }
using List = std::vector<std::uint64_t>;

Tensor* Dense(std::vector<std::int64_t> sizes) {
  auto* made = new Tensor;
  made->sizes = std::move(sizes);
  made->strides.resize(made->sizes.size());
  std::int64_t stride = 1;
  for (std::size_t d = made->sizes.size(); d-- > 0; stride *= made->sizes[d]) {
    made->strides[d] = stride;
  }
  made->memory = std::make_shared<std::vector<float>>(made->count() + 1);
  made->first = made->memory->data();
  return made;
}

int Fail(const std::string& what) {
  g_what = what;
  return 1;
}

int Relu(std::uint64_t* stack, bool in_place) {
  std::unique_ptr<Tensor> self(As(stack[0]));
  Tensor* result = in_place ? new Tensor(*self) : Dense(self->sizes);
  for (std::int64_t i = 0; i < self->count(); ++i) result->at(i) = std::max(self->at(i), 0.0F);
  stack[0] = reinterpret_cast<std::uint64_t>(result);
  return 0;
}

// Of the first dimension only, and at least one.
int Cat(std::uint64_t* stack) {
  std::unique_ptr<List> list(reinterpret_cast<List*>(stack[0]));
  std::vector<std::unique_ptr<Tensor>> parts;
  for (const std::uint64_t word : *list) parts.emplace_back(As(word));
  if (stack[1] != 0 || parts.front()->sizes.empty()) return Fail("only along dimension 0");
  std::vector<std::int64_t> sizes = parts.front()->sizes;
  sizes[0] = 0;
  for (const auto& part : parts) sizes[0] += part->sizes[0];
  Tensor* result = Dense(sizes);
  std::int64_t to = 0;
  for (const auto& part : parts) {
    for (std::int64_t i = 0; i < part->count(); ++i) result->at(to++) = part->at(i);
  }
  stack[0] = reinterpret_cast<std::uint64_t>(result);
  return 0;
}

}  // namespace

extern "C" {

int stand_in_alive() { return g_alive; }
int stand_in_torch_calls() { return g_calls; }

std::uint64_t aoti_torch_abi_version() { return 0x020a000000000000; }
std::int32_t aoti_torch_dtype_float32() { return 6; }
std::int32_t aoti_torch_device_type_cpu() { return 0; }
const char* torch_exception_get_what_without_backtrace() { return g_what.c_str(); }
int torch_get_num_threads(std::uint32_t* threads) { return *threads = 3, 0; }

int aoti_torch_create_tensor_from_blob(void* data, std::int64_t dim, const std::int64_t* sizes,
                                       const std::int64_t* strides, std::int64_t offset,
                                       std::int32_t type, std::int32_t, std::int32_t, void** made) {
  auto* tensor = new Tensor;
  tensor->first = static_cast<float*>(data);
  tensor->offset = offset;
  tensor->type = type;
  tensor->sizes.assign(sizes, sizes + dim);
  tensor->strides.assign(strides, strides + dim);
  return *made = tensor, 0;
}
int aoti_torch_empty_strided(std::int64_t dim, const std::int64_t* sizes, const std::int64_t*,
                             std::int32_t, std::int32_t, std::int32_t, void** made) {
  return *made = Dense({sizes, sizes + dim}), 0;
}
int aoti_torch_new_tensor_handle(void* from, void** made) {
  return *made = new Tensor(*As(from)), 0;
}
int aoti_torch_new_uninitialized_tensor(void** made) { return *made = new Tensor, 0; }
int aoti_torch_delete_tensor_object(void* handle) { return delete As(handle), 0; }
int aoti_torch_copy_(void* to, void* from, std::int32_t) {
  if (As(to)->sizes != As(from)->sizes) return Fail("shapes differ");
  for (std::int64_t i = 0; i < As(to)->count(); ++i) As(to)->at(i) = As(from)->at(i);
  return 0;
}
int aoti_torch_get_data_ptr(void* handle, void** data) {
  return *data = As(handle)->first + As(handle)->offset, 0;
}
int aoti_torch_get_dim(void* handle, std::int64_t* dim) {
  return *dim = static_cast<std::int64_t>(As(handle)->sizes.size()), 0;
}
int aoti_torch_get_sizes(void* handle, std::int64_t** sizes) {
  return *sizes = As(handle)->sizes.data(), 0;
}
int aoti_torch_get_strides(void* handle, std::int64_t** strides) {
  return *strides = As(handle)->strides.data(), 0;
}
int aoti_torch_get_dtype(void* handle, std::int32_t* type) { return *type = As(handle)->type, 0; }
int aoti_torch_get_storage_offset(void* handle, std::int64_t* offset) {
  return *offset = As(handle)->offset, 0;
}
int aoti_torch_get_storage_size(void* handle, std::int64_t* bytes) {
  return *bytes = As(handle)->count() * 4, 0;
}
int torch_new_list_reserve_size(std::size_t, void** made) { return *made = new List, 0; }
int torch_list_push_back(void* list, std::uint64_t word) {
  return static_cast<List*>(list)->push_back(word), 0;
}
int torch_new_string_handle(const char* text, std::size_t size, void** made) {
  return *made = new std::string(text, size), 0;
}

// A string that is taken over, an optional number, and a refusal.
int torch_call_dispatcher(const char* name, const char*, std::uint64_t* stack, std::uint64_t) {
  ++g_calls;
  const std::string op = name;
  if (op == "aten::relu" || op == "aten::relu_") return Relu(stack, op.back() == '_');
  if (op == "aten::cat") return Cat(stack);
  delete As(stack[0]);
  if (op == "aten::gelu") {
    std::unique_ptr<std::string> approximate(reinterpret_cast<std::string*>(stack[1]));
    return Fail("no gelu of kind " + *approximate);
  }
  return Fail("no operator " + op);
}

int aoti_torch_cpu_add_Tensor(void* self, void* other, double alpha, void** made) {
  ++g_calls;
  if (As(self)->sizes != As(other)->sizes) return Fail("no broadcasting");
  Tensor* result = Dense(As(self)->sizes);
  for (std::int64_t i = 0; i < result->count(); ++i) {
    result->at(i) = As(self)->at(i) + static_cast<float>(alpha) * As(other)->at(i);
  }
  return *made = result, 0;
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming, performance-no-int-to-ptr)
