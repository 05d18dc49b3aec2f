#include "kernels/ops/products/gemm_host.h"

#include <algorithm>
#include <string>
#include <vector>

#include "kernels/cpu/blas.h"
#include "kernels/cpu/onednn.h"
#include "kernels/ops/common/host_convert.h"
#include "kernels/tensor_access.h"

namespace reprise {
namespace {

// `a` itself where a BLAS takes it, else a dense copy in `copy`.
BlasMatrix ForBlas(const HostMatrix& a, std::int64_t rows, std::int64_t columns,
                   std::vector<float>& copy) {
  if (a.dtype == DType::kFloat32) {
    const float* first = reinterpret_cast<const float*>(a.data) + a.offset;
    if ((a.column == 1 || columns == 1) && (a.row >= std::max<std::int64_t>(1, columns))) {
      return {first, 'N', a.row};
    }
    if ((a.row == 1 || rows == 1) && (a.column >= std::max<std::int64_t>(1, rows))) {
      return {first, 'T', a.column};
    }
  }
  copy.resize(static_cast<std::size_t>(rows * columns));
  for (std::int64_t i = 0; i < rows; ++i) {
    LoadRun(a.data, a.dtype, a.offset + i * a.row, a.column, copy.data() + i * columns, columns);
  }
  return {copy.data(), 'N', std::max<std::int64_t>(1, columns)};
}

}  // namespace

void SetHostThreads(double flops) { SetOneDnnThreads(flops < kParallelGemmFlops ? 1 : 0); }

Status HostGemm(std::int64_t m, std::int64_t n, std::int64_t k, float alpha, const HostMatrix& a,
                const HostMatrix& b, float beta, const HostMatrix& d, const Blas* blas) {
  if (m == 0 || n == 0) {
    return {};
  }
  const double flops =
      2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  std::vector<float> a_copy;
  std::vector<float> b_copy;
  std::vector<float> d_copy;
  const BlasMatrix left = ForBlas(a, m, k, a_copy);
  const BlasMatrix right = ForBlas(b, k, n, b_copy);
  const BlasMatrix result = ForBlas(d, m, n, d_copy);
  if (k == 0) {  // which libraries leave untouched
    for (std::int64_t i = 0; i < m * n; ++i) {
      const std::int64_t at = d.offset + i / n * d.row + i % n * d.column;
      StoreDouble(d.data, d.dtype, at, beta == 0 ? 0 : beta * LoadDouble(d.data, d.dtype, at));
    }
    return {};
  }
  const bool direct = d_copy.empty() && result.transposed == 'N';
  if (!direct && d_copy.empty()) {  // a transposed result
    d_copy.resize(static_cast<std::size_t>(m * n));
    for (std::int64_t i = 0; beta != 0 && i < m * n; ++i) {
      d_copy[static_cast<std::size_t>(i)] = result.data[i / n + i % n * result.leading];
    }
  }
  float* out = direct ? const_cast<float*>(result.data) : d_copy.data();
  const std::int64_t out_leading = direct ? result.leading : n;
  if (blas == nullptr || !blas->Multiply(m, n, k, alpha, left, right, beta, out, out_leading,
                                         flops < kParallelGemmFlops)) {
    SetHostThreads(flops);
    const dnnl_status_t status =
        dnnl_sgemm(left.transposed, right.transposed, m, n, k, alpha, left.data, left.leading,
                   right.data, right.leading, beta, out, out_leading);
    if (status != dnnl_success) {
      return EnvironmentError("oneDNN's sgemm failed with status " + std::to_string(status));
    }
  }
  for (std::int64_t i = 0; !direct && i < m; ++i) {
    StoreRun(d_copy.data() + i * n, n, d.data, d.dtype, d.offset + i * d.row, d.column);
  }
  return {};
}

}  // namespace reprise
