#include "kernels/cpu/blas.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <mutex>

#include "core/parallel.h"
#include "kernels/shared_library.h"

namespace reprise {
namespace {

using FortranSgemm = void(const char*, const char*, const int*, const int*, const int*,
                          const float*, const float*, const int*, const float*, const int*,
                          const float*, float*, const int*);
// Some take an int and some return nothing: 64 bits serve both in the calling conventions of 64-bit
// systems, and what is returned is not looked at.
using SetThreads = int(std::int64_t);
using Version = void(char*, int);
using Config = char*();

struct Blas {
  std::string path;
  FortranSgemm* sgemm = nullptr;
  SetThreads* set_threads = nullptr;  // null: it cannot be told
  std::string name;
};
Blas& ChosenBlas() {
  static Blas blas;
  return blas;
}

// Of the calling thread in MKL, of the process elsewhere.
SetThreads* FindSetThreads(const SharedLibrary& library) {
  for (const char* name :
       {"MKL_Set_Num_Threads_Local", "openblas_set_num_threads", "bli_thread_set_num_threads"}) {
    if (auto* found = library.Find<SetThreads>(name)) {
      return found;
    }
  }
  return nullptr;
}

std::string Describe(const SharedLibrary& library) {
  std::string file = library.FileOf("sgemm_");
  if (auto* version = library.Find<Version>("MKL_Get_Version_String")) {
    std::string text(256, '\0');
    version(text.data(), static_cast<int>(text.size()));
    text.resize(text.find_last_not_of(std::string(" \0", 2)) + 1);
    return fmt::format("{} ({})", text, file);
  }
  if (auto* config = library.Find<Config>("openblas_get_config")) {
    return fmt::format("{} ({})", config(), file);
  }
  return file;
}

}  // namespace

Status UseBlas(const std::string& path) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (path == ChosenBlas().path) {
    return {};  // folded ranks all say the same
  }
  if (path.empty()) {
    ChosenBlas() = {};
    return {};
  }
  const auto library = SharedLibrary::Open({path.c_str()});
  if (!library) {
    return EnvironmentError(fmt::format("--blas: {}", library.error().message));
  }
  auto* sgemm = library->Find<FortranSgemm>("sgemm_");
  if (sgemm == nullptr) {
    return EnvironmentError(
        fmt::format("--blas: {} has no sgemm_; a BLAS has (libtorch_cpu.so, libmkl_rt.so.2, "
                    "libopenblas.so.0, libblis.so.4)",
                    path));
  }
  ChosenBlas() = {path, sgemm, FindSetThreads(*library), Describe(*library)};
  return {};
}

const std::string& BlasInUse() { return ChosenBlas().name; }

bool MultiplyByBlas(std::int64_t m, std::int64_t n, std::int64_t k, float alpha,
                    const BlasMatrix& a, const BlasMatrix& b, float beta, float* d,
                    std::int64_t d_leading, bool one_thread) {
  const Blas& blas = ChosenBlas();
  if (blas.sgemm == nullptr ||
      std::max({m, n, k, a.leading, b.leading, d_leading}) > std::numeric_limits<int>::max()) {
    return false;
  }
  if (blas.set_threads != nullptr) {
    blas.set_threads(one_thread ? 1 : OwnCores());
  }
  const auto i = [](std::int64_t value) { return static_cast<int>(value); };
  // Fortran's matrices are the transposed ones: D' = B' A'.
  const int rows = i(n);
  const int columns = i(m);
  const int depth = i(k);
  const int b_leading = i(b.leading);
  const int a_leading = i(a.leading);
  const int out_leading = i(d_leading);
  blas.sgemm(&b.transposed, &a.transposed, &rows, &columns, &depth, &alpha, b.data, &b_leading,
             a.data, &a_leading, &beta, d, &out_leading);
  return true;
}

}  // namespace reprise
