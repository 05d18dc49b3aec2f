// Matrix products on the host in float32, by oneDNN or the BLAS that was named.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/dtype.h"
#include "core/result.h"

namespace reprise {

// Products of fewer FLOPs use one thread, since ranks share cores: about 10 ms of one core.
inline constexpr double kParallelGemmFlops = 1e9;

class Blas;

// A matrix in host memory, in elements of `dtype` (float32, bfloat16 or float16).
struct HostMatrix {
  std::byte* data = nullptr;  // element 0 of the storage
  DType dtype = DType::kFloat32;
  std::int64_t offset = 0;
  std::int64_t row = 0;
  std::int64_t column = 0;
};

// D(m,n) = alpha A(m,k) B(k,n) + beta D(m,n), whatever the strides. Uses one thread unless the
// product is large: ranks share cores. By `blas`, or oneDNN where that is nullptr or can't.
[[nodiscard]] Status HostGemm(std::int64_t m, std::int64_t n, std::int64_t k, float alpha,
                              const HostMatrix& a, const HostMatrix& b, float beta,
                              const HostMatrix& d, const Blas* blas);

// Sets the number of threads that oneDNN uses for work of so many FLOPs on this thread.
void SetHostThreads(double flops);

}  // namespace reprise
