#include "report/telemetry/vendor_library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>

namespace reprise {
namespace {

// A path that is no regular file is not handed to the loader, which would wait at a FIFO.
std::string TryToLoad(const std::string& path, void*& handle) {
  std::error_code error;
  if (path.find('/') != std::string::npos && !std::filesystem::is_regular_file(path, error)) {
    return path + ": no such file";
  }
  handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle != nullptr) {
    return {};
  }
  const char* const reason = dlerror();
  return reason != nullptr ? reason : path + ": cannot be loaded";
}

}  // namespace

Result<VendorLibrary> VendorLibrary::Open(const SourceOptions& options, std::string_view source,
                                          std::initializer_list<const char*> usual_names) {
  void* handle = nullptr;
  if (const auto named = options.libraries.find(std::string(source));
      named != options.libraries.end()) {
    const std::string why = TryToLoad(named->second, handle);
    if (handle == nullptr) {
      return EnvironmentError(why);
    }
    return VendorLibrary(handle, named->second);
  }
  if (!options.root.empty()) {
    return EnvironmentError(
        fmt::format("{}: a root other than /, and no library named for {}", options.root, source));
  }
  std::string first_reason;
  for (const char* name : usual_names) {
    const std::string why = TryToLoad(name, handle);
    if (handle != nullptr) {
      return VendorLibrary(handle, name);
    }
    if (first_reason.empty()) {
      first_reason = why;
    }
  }
  return EnvironmentError(first_reason);
}

void VendorLibrary::Unload::operator()(void* handle) const { dlclose(handle); }

void* VendorLibrary::Address(const char* symbol) const { return dlsym(handle_.get(), symbol); }

Status RequiredSymbols::Check(std::string_view advice) const {
  if (missing_.empty()) {
    return {};
  }
  return EnvironmentError(fmt::format("{} has no {}: {}", library_.path(), missing_, advice));
}

}  // namespace reprise
