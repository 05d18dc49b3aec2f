#include "kernels/cpu/blas.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "core/parallel.h"

namespace reprise {
namespace {

using Version = void(char*, int);
using Config = char*();

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

// Sets the threads of the calling thread in MKL, of the process in other libraries.
Blas::SetThreads* Blas::FindSetThreads(const SharedLibrary& library) {
  for (const char* name :
       {"MKL_Set_Num_Threads_Local", "openblas_set_num_threads", "bli_thread_set_num_threads"}) {
    if (auto* found = library.Find<SetThreads>(name)) {
      return found;
    }
  }
  return nullptr;
}

Result<std::shared_ptr<const Blas>> Blas::Open(const std::string& path) {
  const auto library = SharedLibrary::Open({path.c_str()});
  if (!library) {
    return EnvironmentError(fmt::format("--blas: {}", library.error().message));
  }
  auto* sgemm = library->Find<Sgemm>("sgemm_");
  if (sgemm == nullptr) {
    return EnvironmentError(
        fmt::format("--blas: {} has no sgemm_; a BLAS has (libtorch_cpu.so, libmkl_rt.so.2, "
                    "libopenblas.so.0, libblis.so.4)",
                    path));
  }
  return std::shared_ptr<const Blas>(new Blas(sgemm, FindSetThreads(*library), Describe(*library)));
}

bool Blas::Multiply(std::int64_t m, std::int64_t n, std::int64_t k, float alpha,
                    const BlasMatrix& a, const BlasMatrix& b, float beta, float* d,
                    std::int64_t d_leading, bool one_thread) const {
  if (std::max({m, n, k, a.leading, b.leading, d_leading}) > std::numeric_limits<int>::max()) {
    return false;
  }
  if (set_threads_ != nullptr) {
    set_threads_(one_thread ? 1 : OwnCores());
  }
  const auto i = [](std::int64_t value) { return static_cast<int>(value); };
  // Fortran's matrices are the transposed ones: D' = B' A'.
  const int rows = i(n);
  const int columns = i(m);
  const int depth = i(k);
  const int b_leading = i(b.leading);
  const int a_leading = i(a.leading);
  const int out_leading = i(d_leading);
  sgemm_(&b.transposed, &a.transposed, &rows, &columns, &depth, &alpha, b.data, &b_leading, a.data,
         &a_leading, &beta, d, &out_leading);
  return true;
}

}  // namespace reprise
