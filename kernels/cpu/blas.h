// A BLAS that the user names in place of oneDNN's float32 product: the library of the program that
// was recorded, so that a replay takes the time which that library takes. PyTorch's own
// libtorch_cpu.so is one (on x86-64 it brings MKL along), as are libmkl_rt.so.2, libopenblas.so.0
// and libblis.so.4: all that is needed is Fortran's sgemm_ with 32-bit integers
// (https://netlib.org/blas/).
#pragma once

#include <cstdint>
#include <string>

#include "core/result.h"

namespace reprise {

// For the whole process, before anything is computed; empty: oneDNN again. Environment error if the
// library does not open or has no sgemm_. Thread-safe against itself.
[[nodiscard]] Status UseBlas(const std::string& path);
// What is in use, for people: its file, and what it says of itself. Empty: oneDNN.
[[nodiscard]] const std::string& BlasInUse();

// A row-major float32 matrix, as dnnl_sgemm takes it: 'T' if it is stored by columns.
struct BlasMatrix {
  const float* data = nullptr;
  char transposed = 'N';
  std::int64_t leading = 1;
};
// d(m,n) = alpha a(m,k) b(k,n) + beta d(m,n), with one thread or as many as the library likes.
// False, and nothing done, if no BLAS was named or an extent is beyond 32 bits. Thread-safe.
[[nodiscard]] bool MultiplyByBlas(std::int64_t m, std::int64_t n, std::int64_t k, float alpha,
                                  const BlasMatrix& a, const BlasMatrix& b, float beta, float* d,
                                  std::int64_t d_leading, bool one_thread);

}  // namespace reprise
