#include "kernels/shared_library.h"

#include <dlfcn.h>

#include <filesystem>

namespace reprise {

Result<SharedLibrary> SharedLibrary::Open(std::initializer_list<const char*> names) {
  std::string why;
  for (const char* name : names) {
    if (void* handle = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)) {
      return SharedLibrary(handle);
    }
    const char* error = dlerror();
    why += (why.empty() ? "" : "; ") + std::string(error == nullptr ? name : error);
  }
  return EnvironmentError(why);
}

void* SharedLibrary::Address(const char* symbol) const { return dlsym(handle_, symbol); }

std::string SharedLibrary::FileOf(const char* of) const {
  Dl_info info{};
  void* address = Address(of);
  if (address == nullptr || dladdr(address, &info) == 0 || info.dli_fname == nullptr) {
    return "";
  }
  std::error_code error;
  const auto file = std::filesystem::canonical(info.dli_fname, error);
  return error ? info.dli_fname : file.string();
}

}  // namespace reprise
