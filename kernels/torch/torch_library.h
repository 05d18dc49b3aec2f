// PyTorch's library through the C interface that stays the same across its releases, 2.10 and
// later: torch/csrc/stable/c/shim.h and torch/csrc/inductor/aoti_torch/c/shim.h of its headers,
// docs.pytorch.org/docs/stable/notes/libtorch_stable_abi.html. Opened at run time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "core/dtype.h"
#include "core/result.h"
#include "core/value.h"
#include "kernels/shared_library.h"

namespace reprise {

class TorchLibrary;

// Where tensors are: PyTorch's name of the kind of device ("cpu", "cuda"), and which one.
struct TorchDevice {
  std::string kind = "cpu";
  std::int32_t index = 0;
};

// A tensor of PyTorch's, owned; the last of what shares its memory frees that.
class TorchTensor {
 public:
  TorchTensor() = default;
  TorchTensor(const TorchLibrary* library, void* handle) : library_(library), handle_(handle) {}
  TorchTensor(TorchTensor&& other) noexcept { *this = std::move(other); }
  TorchTensor& operator=(TorchTensor&& other) noexcept {
    std::swap(library_, other.library_);
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~TorchTensor();
  [[nodiscard]] void* handle() const { return handle_; }
  // The first element's address.
  [[nodiscard]] std::byte* data() const;
  // The same type, extents, strides (but of dimensions of one element) and offset.
  [[nodiscard]] bool LooksLike(const TensorDesc& desc) const;
  [[nodiscard]] std::int64_t storage_bytes() const;

 private:
  const TorchLibrary* library_ = nullptr;
  void* handle_ = nullptr;
};

// An argument or a result as the interface passes it: a number's bits, or a handle.
using TorchWord = std::uint64_t;

// Thread-safe. Every error has PyTorch's message. Never unloaded.
class TorchLibrary {
 public:
  // `path`: libtorch_cpu.so, or the library of the kind of device, which brings it. Environment
  // error if the file does not open, or has no such interface.
  static Result<std::shared_ptr<const TorchLibrary>> Open(const std::string& path,
                                                          TorchDevice device = {});
  ~TorchLibrary();
  // "PyTorch 2.15 (/…/libtorch_cpu.so), 2 threads"
  [[nodiscard]] std::string Describe() const;
  [[nodiscard]] const TorchDevice& device() const { return device_; }

  // Until `work` returns, what this thread calls is enqueued on `stream`: a handle of the kind of
  // device's own. Environment error where the library has no streams.
  [[nodiscard]] Status OnStream(void* stream, const std::function<Status()>& work) const;
  // A tensor in the device's memory, which the caller owns; `storage` is where offset 0 is.
  [[nodiscard]] Result<TorchTensor> Wrap(const TensorDesc& desc, std::byte* storage) const;
  // A new one of that type and extents; what it contains is undefined.
  [[nodiscard]] Result<TorchTensor> New(const TensorDesc& desc) const;
  [[nodiscard]] Status Copy(const TorchTensor& to, const TorchTensor& from) const;

  // A result of a call.
  [[nodiscard]] TorchTensor Take(TorchWord word) const;

  // Arguments, each to be given to one call, which takes it over.
  [[nodiscard]] Result<TorchWord> Word(const TorchTensor& tensor) const;
  [[nodiscard]] Result<TorchWord> Word(const std::string& text) const;
  // A tensor that is not defined.
  [[nodiscard]] Result<TorchWord> Undefined() const;
  [[nodiscard]] Result<TorchWord> List(std::span<const TorchWord> words) const;
  [[nodiscard]] static TorchWord Optional(TorchWord word);
  // The number of a type; nothing if the interface has none.
  [[nodiscard]] std::optional<TorchWord> Word(DType dtype) const;

  // The operator of that name and overload, as PyTorch's dispatcher has it. `stack`: its
  // arguments in order, then as many zeros as an operator of a later release might read more;
  // afterwards its results, where they lie first.
  [[nodiscard]] Status Call(const char* name, const char* overload,
                            std::span<TorchWord> stack) const;
  // One of the functions aoti_torch_cpu_*, or of another kind of device, which take numbers of any
  // type as double; nullptr if this release has it not.
  template <typename Function>
  [[nodiscard]] Function* Direct(const std::string& name) const {
    return library_.Find<Function>(("aoti_torch_" + device_.kind + "_" + name).c_str());
  }
  // Of a function of the interface: 0 is success.
  [[nodiscard]] Status Check(int code, std::string_view what) const;

 private:
  friend class TorchTensor;
  struct Functions;
  TorchLibrary(SharedLibrary library, TorchDevice device,
               std::unique_ptr<const Functions> functions);

  SharedLibrary library_;
  TorchDevice device_;
  std::unique_ptr<const Functions> f_;
};

}  // namespace reprise
