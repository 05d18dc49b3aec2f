// A vendor's library, loaded at run time: the build needs none, and a machine may lack it.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "core/result.h"
#include "report/telemetry/source.h"

namespace reprise {

// Unloads the library when it goes; what was looked up in it is invalid from then on.
class VendorLibrary {
 public:
  // The library that `options` names for the source, else the first of `usual_names` that the
  // loader finds. Under a fixture root only the former: tests must not depend on what the machine
  // has. The error (kEnvironment) says what was looked for and why it failed.
  static Result<VendorLibrary> Open(const SourceOptions& options, std::string_view source,
                                    std::initializer_list<const char*> usual_names);

  [[nodiscard]] const std::string& path() const { return path_; }
  // Null if there is no such symbol. The caller's type is what the vendor documents for it.
  template <typename Function>
  bool Find(const char* symbol, Function*& function) const {
    function = reinterpret_cast<Function*>(Address(symbol));
    return function != nullptr;
  }

 private:
  struct Unload {
    void operator()(void* handle) const;
  };
  VendorLibrary(void* handle, std::string path) : handle_(handle), path_(std::move(path)) {}
  [[nodiscard]] void* Address(const char* symbol) const;
  std::unique_ptr<void, Unload> handle_;
  std::string path_;
};

// Looks up the symbols without which a library is of no use.
class RequiredSymbols {
 public:
  explicit RequiredSymbols(const VendorLibrary& library) : library_(library) {}
  template <typename Function>
  void operator()(const char* symbol, Function*& function) {
    if (!library_.Find(symbol, function) && missing_.empty()) {
      missing_ = symbol;
    }
  }
  // The error names the first that is missing; `advice`: what to do about it.
  [[nodiscard]] Status Check(std::string_view advice) const;

 private:
  const VendorLibrary& library_;
  std::string missing_;
};

}  // namespace reprise
