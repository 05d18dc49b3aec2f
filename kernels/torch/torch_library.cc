#include "kernels/torch/torch_library.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

#include "kernels/device_lowering.h"

namespace reprise {
namespace {

constexpr std::uint64_t kMajorBit = 56;
constexpr std::uint64_t kMinorBit = 48;
// What the calls here were written for: PyTorch adapts those to operators that have changed since.
constexpr std::uint64_t kWrittenFor =
    (std::uint64_t{2} << kMajorBit) | (std::uint64_t{10} << kMinorBit);

}  // namespace

// X(member, symbol, type)
#define REPRISE_TORCH_FUNCTIONS(X)                                                                 \
  X(version, "aoti_torch_abi_version", std::uint64_t())                                            \
  X(wrap, "aoti_torch_create_tensor_from_blob",                                                    \
    int(void*, std::int64_t, const std::int64_t*, const std::int64_t*, std::int64_t, std::int32_t, \
        std::int32_t, std::int32_t, void**))                                                       \
  X(empty, "aoti_torch_empty_strided",                                                             \
    int(std::int64_t, const std::int64_t*, const std::int64_t*, std::int32_t, std::int32_t,        \
        std::int32_t, void**))                                                                     \
  X(share, "aoti_torch_new_tensor_handle", int(void*, void**))                                     \
  X(undefined, "aoti_torch_new_uninitialized_tensor", int(void**))                                 \
  X(release, "aoti_torch_delete_tensor_object", int(void*))                                        \
  X(copy, "aoti_torch_copy_", int(void*, void*, std::int32_t))                                     \
  X(data, "aoti_torch_get_data_ptr", int(void*, void**))                                           \
  X(dim, "aoti_torch_get_dim", int(void*, std::int64_t*))                                          \
  X(sizes, "aoti_torch_get_sizes", int(void*, std::int64_t**))                                     \
  X(strides, "aoti_torch_get_strides", int(void*, std::int64_t**))                                 \
  X(dtype, "aoti_torch_get_dtype", int(void*, std::int32_t*))                                      \
  X(offset, "aoti_torch_get_storage_offset", int(void*, std::int64_t*))                            \
  X(storage_bytes, "aoti_torch_get_storage_size", int(void*, std::int64_t*))                       \
  X(call, "torch_call_dispatcher", int(const char*, const char*, std::uint64_t*, std::uint64_t))   \
  X(new_list, "torch_new_list_reserve_size", int(std::size_t, void**))                             \
  X(push_back, "torch_list_push_back", int(void*, std::uint64_t))                                  \
  X(new_string, "torch_new_string_handle", int(const char*, std::size_t, void**))                  \
  X(threads, "torch_get_num_threads", int(std::uint32_t*))

struct TorchLibrary::Functions {
#define REPRISE_DECLARE(member, symbol, ...) std::add_pointer_t<__VA_ARGS__> member = nullptr;
  REPRISE_TORCH_FUNCTIONS(REPRISE_DECLARE)
#undef REPRISE_DECLARE
  const char* (*what)() = nullptr;  // since 2.12
  std::int32_t device_kind = 0;
  // Of kinds of devices that have streams; both or none.
  int (*begin_stream)(void*, std::int32_t, void**) = nullptr;
  int (*end_stream)(void*) = nullptr;
  std::array<std::optional<std::int32_t>, 16> types;  // by DType
};

TorchTensor::~TorchTensor() {
  if (handle_ != nullptr) {
    library_->f_->release(handle_);
  }
}

std::byte* TorchTensor::data() const {
  void* data = nullptr;
  return library_->f_->data(handle_, &data) == 0 ? static_cast<std::byte*>(data) : nullptr;
}

std::int64_t TorchTensor::storage_bytes() const {
  std::int64_t bytes = 0;
  return library_->f_->storage_bytes(handle_, &bytes) == 0 ? bytes : 0;
}

bool TorchTensor::LooksLike(const TensorDesc& desc) const {
  const TorchLibrary::Functions& f = *library_->f_;
  std::int64_t dim = 0;
  std::int64_t offset = 0;
  std::int32_t type = 0;
  std::int64_t* sizes = nullptr;
  std::int64_t* strides = nullptr;
  if (f.dim(handle_, &dim) != 0 || f.offset(handle_, &offset) != 0 ||
      f.dtype(handle_, &type) != 0 || f.sizes(handle_, &sizes) != 0 ||
      f.strides(handle_, &strides) != 0) {
    return false;
  }
  bool alike = offset == desc.offset && dim == static_cast<std::int64_t>(desc.shape.size()) &&
               library_->Word(desc.dtype) == static_cast<TorchWord>(type);
  const bool empty = ElementCount(desc.shape) == 0;
  for (std::size_t d = 0; alike && d < desc.shape.size(); ++d) {
    alike =
        sizes[d] == desc.shape[d] && (empty || desc.shape[d] == 1 || strides[d] == desc.strides[d]);
  }
  return alike;
}

TorchLibrary::TorchLibrary(SharedLibrary library, TorchDevice device,
                           std::unique_ptr<const Functions> functions)
    : library_(library), device_(std::move(device)), f_(std::move(functions)) {}
TorchLibrary::~TorchLibrary() = default;

Result<std::shared_ptr<const TorchLibrary>> TorchLibrary::Open(const std::string& path,
                                                               TorchDevice device) {
  const auto library = SharedLibrary::Open({path.c_str()});
  if (!library) {
    return EnvironmentError(fmt::format("--torch: {}", library.error().message));
  }
  auto f = std::make_unique<Functions>();
  const char* missing = nullptr;
#define REPRISE_FIND(member, symbol, ...)         \
  f->member = library->Find<__VA_ARGS__>(symbol); \
  missing = f->member == nullptr && missing == nullptr ? symbol : missing;
  REPRISE_TORCH_FUNCTIONS(REPRISE_FIND)
#undef REPRISE_FIND
  if (missing != nullptr) {
    return EnvironmentError(fmt::format(
        "--torch: {} has no {}; libtorch_cpu.so of PyTorch 2.10 and later has it (below "
        "site-packages/torch/lib)",
        path, missing));
  }
  const auto named = [&](std::string_view format) {
    return fmt::format(fmt::runtime(format), device.kind);
  };
  auto* const kind = library->Find<std::int32_t()>(named("aoti_torch_device_type_{}").c_str());
  if (kind == nullptr) {
    return EnvironmentError(
        fmt::format("--torch: {} knows no device of the kind {}", path, device.kind));
  }
  f->device_kind = kind();
  f->begin_stream = library->Find<int(void*, std::int32_t, void**)>(
      named("aoti_torch_create_{}_stream_guard").c_str());
  f->end_stream = library->Find<int(void*)>(named("aoti_torch_delete_{}_stream_guard").c_str());
  f->what = library->Find<const char*()>("torch_exception_get_what_without_backtrace");
  for (std::size_t i = 0; i < f->types.size(); ++i) {
    const auto dtype = static_cast<DType>(i);
    const std::string symbol = fmt::format("aoti_torch_dtype_{}", Name(dtype));
    auto* const type = library->Find<std::int32_t()>(symbol.c_str());
    if (IsKernelType(dtype) && type != nullptr) {
      f->types.at(i) = type();
    }
  }
  return std::shared_ptr<const TorchLibrary>(
      new TorchLibrary(*library, std::move(device), std::move(f)));
}

std::string TorchLibrary::Describe() const {
  const std::uint64_t version = f_->version();
  std::uint32_t threads = 0;
  f_->threads(&threads);
  return fmt::format("PyTorch {}.{} ({}), {} thread{}", version >> kMajorBit,
                     (version >> kMinorBit) & 0xffU, library_.FileOf("torch_call_dispatcher"),
                     threads, threads == 1 ? "" : "s");
}

Status TorchLibrary::OnStream(void* stream, const std::function<Status()>& work) const {
  if (f_->begin_stream == nullptr || f_->end_stream == nullptr) {
    return EnvironmentError(fmt::format("--torch: {} has no streams of the kind {}",
                                        library_.FileOf("torch_call_dispatcher"), device_.kind));
  }
  void* guard = nullptr;
  REPRISE_TRY(Check(f_->begin_stream(stream, device_.index, &guard), "a change of streams"));
  Status done = work();
  REPRISE_TRY(Check(f_->end_stream(guard), "a change of streams"));
  return done;
}

Status TorchLibrary::Check(int code, std::string_view what) const {
  if (code == 0) {
    return {};
  }
  std::string said = f_->what == nullptr ? "it says why on standard error" : f_->what();
  // Behind the first line: what else it could do, and where it was.
  said.resize(std::min(said.find('\n'), said.size()));
  return EnvironmentError(fmt::format("PyTorch could not do {}: {}", what, said));
}

Result<TorchTensor> TorchLibrary::Wrap(const TensorDesc& desc, std::byte* storage) const {
  void* handle = nullptr;
  REPRISE_TRY(Check(f_->wrap(storage, static_cast<std::int64_t>(desc.shape.size()),
                             desc.shape.data(), desc.strides.data(), desc.offset,
                             static_cast<std::int32_t>(Word(desc.dtype).value_or(0)),
                             f_->device_kind, device_.index, &handle),
                    "a tensor in our memory"));
  return TorchTensor(this, handle);
}

Result<TorchTensor> TorchLibrary::New(const TensorDesc& desc) const {
  void* handle = nullptr;
  REPRISE_TRY(
      Check(f_->empty(static_cast<std::int64_t>(desc.shape.size()), desc.shape.data(),
                      desc.strides.data(), static_cast<std::int32_t>(Word(desc.dtype).value_or(0)),
                      f_->device_kind, device_.index, &handle),
            "a tensor for a result"));
  return TorchTensor(this, handle);
}

Status TorchLibrary::Copy(const TorchTensor& to, const TorchTensor& from) const {
  return Check(f_->copy(to.handle(), from.handle(), 0), "a copy of a result");
}

TorchTensor TorchLibrary::Take(TorchWord word) const { return {this, std::bit_cast<void*>(word)}; }

Result<TorchWord> TorchLibrary::Word(const TorchTensor& tensor) const {
  void* shared = nullptr;
  REPRISE_TRY(Check(f_->share(tensor.handle(), &shared), "a second handle of a tensor"));
  return reinterpret_cast<TorchWord>(shared);
}

Result<TorchWord> TorchLibrary::Undefined() const {
  void* handle = nullptr;
  REPRISE_TRY(Check(f_->undefined(&handle), "a tensor that is not defined"));
  return reinterpret_cast<TorchWord>(handle);
}

Result<TorchWord> TorchLibrary::Word(const std::string& text) const {
  void* handle = nullptr;
  REPRISE_TRY(Check(f_->new_string(text.data(), text.size(), &handle), "a string"));
  return reinterpret_cast<TorchWord>(handle);
}

Result<TorchWord> TorchLibrary::List(std::span<const TorchWord> words) const {
  void* list = nullptr;
  REPRISE_TRY(Check(f_->new_list(words.size(), &list), "a list"));
  for (const TorchWord word : words) {
    REPRISE_TRY(Check(f_->push_back(list, word), "a list"));
  }
  return reinterpret_cast<TorchWord>(list);
}

// The call frees it, with the C++ library's operator that made it.
TorchWord TorchLibrary::Optional(TorchWord word) {
  return reinterpret_cast<TorchWord>(new TorchWord(word));
}

std::optional<TorchWord> TorchLibrary::Word(DType dtype) const {
  const auto i = static_cast<std::size_t>(dtype);
  const auto type = i < f_->types.size() ? f_->types.at(i) : std::nullopt;
  return type ? std::optional(static_cast<TorchWord>(*type)) : std::nullopt;
}

Status TorchLibrary::Call(const char* name, const char* overload,
                          std::span<TorchWord> stack) const {
  return Check(f_->call(name, overload, stack.data(), kWrittenFor), name);
}

}  // namespace reprise
