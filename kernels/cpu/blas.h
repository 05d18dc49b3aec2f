// A BLAS that the user names, which replaces oneDNN's float32 product: the library of the recorded
// program, so that a replay takes the time that the library takes. PyTorch's own
// libtorch_cpu.so is one (on x86-64 it contains MKL), as are libmkl_rt.so.2, libopenblas.so.0
// and libblis.so.4: the library must have Fortran's sgemm_ with 32-bit integers
// (https://netlib.org/blas/).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "core/result.h"
#include "kernels/shared_library.h"

namespace reprise {

// A row-major float32 matrix, as dnnl_sgemm takes it: 'T' if it is stored by columns.
struct BlasMatrix {
  const float* data = nullptr;
  char transposed = 'N';
  std::int64_t leading = 1;
};

// Thread-safe. Never unloaded.
class Blas {
 public:
  // Environment error if the library does not open or has no sgemm_.
  [[nodiscard]] static Result<std::shared_ptr<const Blas>> Open(const std::string& path);
  // For messages: its file, and the description that it reports.
  [[nodiscard]] const std::string& description() const { return description_; }
  // d(m,n) = alpha a(m,k) b(k,n) + beta d(m,n), with one thread or as many as the library chooses.
  // False, and nothing done, if an extent is beyond 32 bits.
  [[nodiscard]] bool Multiply(std::int64_t m, std::int64_t n, std::int64_t k, float alpha,
                              const BlasMatrix& a, const BlasMatrix& b, float beta, float* d,
                              std::int64_t d_leading, bool one_thread) const;

 private:
  using Sgemm = void(const char*, const char*, const int*, const int*, const int*, const float*,
                     const float*, const int*, const float*, const int*, const float*, float*,
                     const int*);
  // Some take an int and some return nothing: 64 bits serve both in the calling conventions of
  // 64-bit systems, and the returned value is ignored.
  using SetThreads = int(std::int64_t);

  Blas(Sgemm* sgemm, SetThreads* set_threads, std::string description)
      : sgemm_(sgemm), set_threads_(set_threads), description_(std::move(description)) {}
  [[nodiscard]] static SetThreads* FindSetThreads(const SharedLibrary& library);

  Sgemm* sgemm_;
  SetThreads* set_threads_;  // null: the library has no such function
  std::string description_;
};

}  // namespace reprise
