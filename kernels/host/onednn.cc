#include "kernels/host/onednn.h"

#include <fmt/format.h>

#include "kernels/shared_library.h"

namespace reprise {
namespace {

const Result<SharedLibrary>& Library() {
  static const std::string name = fmt::format("libdnnl.so.{}", DNNL_VERSION_MAJOR);
  static const Result<SharedLibrary> library = SharedLibrary::Open({name.c_str()});
  return library;
}

}  // namespace

Status OpenOneDnn() {
  if (!Library()) {
    return EnvironmentError(fmt::format("the host backend needs oneDNN: {} (Debian: libdnnl{})",
                                        Library().error().message, DNNL_VERSION_MAJOR));
  }
  return {};
}

void* FindInOneDnn(const char* name) { return Library() ? Library()->Find<void>(name) : nullptr; }

void SetOneDnnThreads(int threads) {
  static auto* const set = reinterpret_cast<void (*)(int)>(FindInOneDnn("omp_set_num_threads"));
  static auto* const cores = reinterpret_cast<int (*)()>(FindInOneDnn("omp_get_num_procs"));
  if (set != nullptr && cores != nullptr) {
    set(threads == 0 ? cores() : threads);
  }
}

}  // namespace reprise
