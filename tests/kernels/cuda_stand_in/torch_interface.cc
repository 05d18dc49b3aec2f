// PyTorch's C interface, forwarded to the real library with the devices' tensors on the CPU.
#include <fmt/format.h>

#include <bit>
#include <map>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "core/operator_table.h"
#include "kernels/torch/torch_operators.h"
#include "tests/kernels/cuda_stand_in/torch_stand_in.h"

using namespace torch_stand_in;  // NOLINT(google-build-using-namespace)

namespace {

using Word = std::uint64_t;

void* HandleOf(Word word) { return std::bit_cast<void*>(word); }

// Lists as they are filled: the interface has no way to look into one without taking its elements.
struct Lists {
  std::mutex mutex;
  std::map<void*, std::vector<Word>> words;
};

Lists& TheLists() {
  static auto& lists = *new Lists;
  return lists;
}

// The list's words, which belong to the call from now on.
std::vector<Word> TakeList(Word list) {
  const std::lock_guard lock(TheLists().mutex);
  const auto node = TheLists().words.extract(HandleOf(list));
  return node.empty() ? std::vector<Word>() : node.mapped();
}

const reprise::TorchOperator* OperatorOf(const std::string& name, const std::string& overload) {
  static const auto& operators = *new auto([] {
    std::unordered_map<std::string, reprise::TorchOperator> by_name;
    for (const reprise::OperatorRow& row : reprise::OperatorRows()) {
      for (reprise::TorchOperator& op : reprise::ParseTorchSignature(row.name, row.signature)
                                            .value_or(std::vector<reprise::TorchOperator>())) {
        if (op.form == reprise::TorchForm::kDispatched && op.device != "cpu") {
          by_name.emplace(op.name + "." + op.overload, std::move(op));
        }
      }
    }
    return by_name;
  }());
  const auto it = operators.find(name + "." + overload);
  return it == operators.end() ? nullptr : &it->second;
}

// The tensors of a stack.
std::vector<void*> TensorsOf(const reprise::TorchOperator& op, const Word* stack) {
  std::vector<void*> tensors;
  for (const char* at = op.arguments.c_str(); *at != '\0'; ++at, ++stack) {
    const char kind = *at;
    const bool optional = at[1] == '?';
    at += optional ? 1 : 0;
    if (optional && *stack == 0) {
      continue;
    }
    const Word word = optional ? *std::bit_cast<const Word*>(*stack) : *stack;
    if (kind == 'T' || kind == 'N') {
      tensors.push_back(HandleOf(word));
    } else if (kind == 'L') {
      for (const Word element : TakeList(word)) {
        tensors.push_back(HandleOf(element));
      }
    } else if (kind == 'U') {
      for (const Word element : TakeList(word)) {
        if (element != 0) {
          tensors.push_back(HandleOf(*std::bit_cast<const Word*>(element)));
        }
      }
    } else if (kind == 'I' || kind == 'B') {
      (void)TakeList(word);
    }
  }
  return tensors;
}

}  // namespace

extern "C" {

// ---- What the library is.
std::uint64_t aoti_torch_abi_version() {
  auto* const real = Real<std::uint64_t()>("aoti_torch_abi_version");
  return real == nullptr ? 0 : real();
}
int torch_get_num_threads(std::uint32_t* threads) {
  return CallReal("torch_get_num_threads", threads);
}
const char* torch_exception_get_what_without_backtrace() {
  if (!OwnFailure().empty()) {
    return OwnFailure().c_str();
  }
  auto* const real = Real<const char*()>("torch_exception_get_what_without_backtrace");
  return real == nullptr ? OwnFailure().c_str() : real();
}
std::int32_t aoti_torch_device_type_cpu() { return kCpuType; }
std::int32_t aoti_torch_device_type_cuda() { return kCudaType; }

// Types that kernels have (IsKernelType).
#define STAND_IN_DTYPE(name)                                            \
  std::int32_t aoti_torch_dtype_##name() {                              \
    auto* const real = Real<std::int32_t()>("aoti_torch_dtype_" #name); \
    return real == nullptr ? -1 : real();                               \
  }
STAND_IN_DTYPE(float32)
STAND_IN_DTYPE(float64)
STAND_IN_DTYPE(float16)
STAND_IN_DTYPE(bfloat16)
STAND_IN_DTYPE(int8)
STAND_IN_DTYPE(uint8)
STAND_IN_DTYPE(int16)
STAND_IN_DTYPE(int32)
STAND_IN_DTYPE(int64)
STAND_IN_DTYPE(bool)
#undef STAND_IN_DTYPE

// ---- Tensors.
int aoti_torch_create_tensor_from_blob(void* data, std::int64_t dim, const std::int64_t* sizes,
                                       const std::int64_t* strides, std::int64_t offset,
                                       std::int32_t type, std::int32_t device_type,
                                       std::int32_t device_index, void** made) {
  int device = kCpuDevice;
  if (!DeviceOf(device_type, device_index, device) ||
      CallReal("aoti_torch_create_tensor_from_blob", data, dim, sizes, strides, offset, type,
               kCpuType, std::int32_t{0}, made) != 0) {
    return 1;
  }
  return Track(*made, {device, nullptr}), 0;
}
int aoti_torch_empty_strided(std::int64_t dim, const std::int64_t* sizes,
                             const std::int64_t* strides, std::int32_t type,
                             std::int32_t device_type, std::int32_t device_index, void** made) {
  int device = kCpuDevice;
  if (!DeviceOf(device_type, device_index, device) ||
      CallReal("aoti_torch_empty_strided", dim, sizes, strides, type, kCpuType, std::int32_t{0},
               made) != 0) {
    return 1;
  }
  return device == kCpuDevice ? (Track(*made, {}), 0) : Move(made, device, false);
}
int aoti_torch_new_tensor_handle(void* from, void** made) {
  const int code = CallReal("aoti_torch_new_tensor_handle", from, made);
  return code == 0 ? (Track(*made, Find(from)), 0) : code;
}
int aoti_torch_new_uninitialized_tensor(void** made) {
  const int code = CallReal("aoti_torch_new_uninitialized_tensor", made);
  return code == 0 ? (Track(*made, {}), 0) : code;
}
int aoti_torch_delete_tensor_object(void* handle) {
  const Tracked last = Find(handle);  // its memory outlives the tensor
  Forget(handle);
  return CallReal("aoti_torch_delete_tensor_object", handle);
}
int aoti_torch_copy_(void* to, void* from, std::int32_t non_blocking) {
  return Run({.name = "aten::copy_", .tensors = {to, from}, .may_mix_devices = true},
             [&] { return CallReal("aoti_torch_copy_", to, from, non_blocking); }, {});
}
int aoti_torch_get_device_type(void* handle, std::int32_t* type) {
  return *type = Find(handle).device == kCpuDevice ? kCpuType : kCudaType, 0;
}
int aoti_torch_get_device_index(void* handle, std::int32_t* index) {
  return *index = Find(handle).device, 0;
}
int aoti_torch_get_data_ptr(void* handle, void** data) {
  return CallReal("aoti_torch_get_data_ptr", handle, data);
}
int aoti_torch_get_dim(void* handle, std::int64_t* dim) {
  return CallReal("aoti_torch_get_dim", handle, dim);
}
int aoti_torch_get_sizes(void* handle, std::int64_t** sizes) {
  return CallReal("aoti_torch_get_sizes", handle, sizes);
}
int aoti_torch_get_strides(void* handle, std::int64_t** strides) {
  return CallReal("aoti_torch_get_strides", handle, strides);
}
int aoti_torch_get_dtype(void* handle, std::int32_t* type) {
  return CallReal("aoti_torch_get_dtype", handle, type);
}
int aoti_torch_get_storage_offset(void* handle, std::int64_t* offset) {
  return CallReal("aoti_torch_get_storage_offset", handle, offset);
}
int aoti_torch_get_storage_size(void* handle, std::int64_t* bytes) {
  return CallReal("aoti_torch_get_storage_size", handle, bytes);
}

// ---- Arguments of the dispatcher.
int torch_new_list_reserve_size(std::size_t count, void** made) {
  const int code = CallReal("torch_new_list_reserve_size", count, made);
  if (code == 0) {
    const std::lock_guard lock(TheLists().mutex);
    TheLists().words[*made].clear();
  }
  return code;
}
int torch_list_push_back(void* list, std::uint64_t word) {
  const int code = CallReal("torch_list_push_back", list, word);
  if (code == 0) {
    const std::lock_guard lock(TheLists().mutex);
    TheLists().words[list].push_back(word);
  }
  return code;
}
int torch_new_string_handle(const char* text, std::size_t bytes, void** made) {
  return CallReal("torch_new_string_handle", text, bytes, made);
}

// ---- Operators.
int torch_call_dispatcher(const char* name, const char* overload, std::uint64_t* stack,
                          std::uint64_t version) {
  const reprise::TorchOperator* const op = OperatorOf(name, overload);
  if (op == nullptr) {
    return Fail(fmt::format("no row of core/operators has a signature of {}.{}", name, overload));
  }
  std::vector<void**> results;
  for (std::size_t i = 0; i < op->results.size(); ++i) {
    if (op->results[i] == 'T') {
      results.push_back(reinterpret_cast<void**>(stack + i));
    }
  }
  return Run(
      {.name = name, .tensors = TensorsOf(*op, stack), .takes_tensors = true},
      [&] { return CallReal("torch_call_dispatcher", name, overload, stack, version); }, results);
}

// Those that take numbers as double: what signatures name with `!`.
// NOLINTBEGIN(readability-identifier-naming,bugprone-reserved-identifier): PyTorch's names.
#define STAND_IN_PRODUCT_INTO(op, function)                                                       \
  int aoti_torch_cuda_##function(void* out, void* self, void* a, void* b, double beta,            \
                                 double alpha) {                                                  \
    return Run(                                                                                   \
        {.name = op, .tensors = {out, self, a, b}},                                               \
        [&] { return CallReal("aoti_torch_cpu_" #function, out, self, a, b, beta, alpha); }, {}); \
  }
STAND_IN_PRODUCT_INTO("aten::addmm", addmm_out)
STAND_IN_PRODUCT_INTO("aten::baddbmm", baddbmm_out)
#undef STAND_IN_PRODUCT_INTO
int aoti_torch_cuda_add_Tensor(void* self, void* other, double alpha, void** made) {
  return Run({.name = "aten::add", .tensors = {self, other}},
             [&] { return CallReal("aoti_torch_cpu_add_Tensor", self, other, alpha, made); },
             {made});
}
#define STAND_IN_ONE_TENSOR(op, function)                                                          \
  int aoti_torch_cuda_##function(void* self, double number, void** made) {                         \
    return Run({.name = op, .tensors = {self}},                                                    \
               [&] { return CallReal("aoti_torch_cpu_" #function, self, number, made); }, {made}); \
  }
STAND_IN_ONE_TENSOR("aten::mul", mul_Scalar)
STAND_IN_ONE_TENSOR("aten::pow", pow_Tensor_Scalar)
#undef STAND_IN_ONE_TENSOR
int aoti_torch_cuda_fill__Scalar(void* self, double number) {
  return Run({.name = "aten::fill_", .tensors = {self}},
             [&] { return CallReal("aoti_torch_cpu_fill__Scalar", self, number); }, {});
}
// NOLINTEND(readability-identifier-naming,bugprone-reserved-identifier)
}
