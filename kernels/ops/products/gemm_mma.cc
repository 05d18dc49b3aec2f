#include "kernels/ops/products/gemm_mma.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/log.h"
#include "kernels/device_lowering.h"
#include "kernels/ops/products/gemm_tiles.h"

namespace reprise {
namespace {

constexpr std::int64_t kMinSide = 16;  // less would leave most of the smallest tile idle

// The same struct as in gemm_mma.cl.
struct MmaArgs {
  std::int64_t a_at, b_at, c_at, d_at;
  std::array<std::int64_t, 2> a_z, b_z, c_z, d_z;
  std::int32_t a_pitch, b_pitch;
  std::int32_t c_m, c_n, d_m, d_n;
  std::int32_t m, n, k, z_e0;
  std::int32_t triangle;
  std::int32_t d_pairs;
  float alpha, beta;
};

// A matrix of which one direction is dense in memory.
struct DenseMatrix {
  bool by_k = false;  // that of k
  std::int64_t pitch = 0;
  int copy_bytes = 0;  // the largest boundary that every row begins at: 16, 4 or 2
};

// `across`: of the direction that is m for A, n for B. Strides along one element mean nothing.
std::optional<DenseMatrix> Densely(const GemmOperand& x, const GemmProblem& p, std::int64_t across,
                                   std::int64_t across_stride, std::int64_t k_stride) {
  DenseMatrix dense;
  if (k_stride == 1 || p.k == 1) {
    dense.by_k = true;
    dense.pitch = across == 1 ? 0 : across_stride;
  } else if (across_stride == 1 || across == 1) {
    dense.pitch = k_stride;
  } else {
    return std::nullopt;
  }
  const std::int64_t element = SizeOf(x.dtype);
  const auto all_at = [&](std::int64_t bytes) {
    return x.offset * element % bytes == 0 && dense.pitch * element % bytes == 0 &&
           (p.batch[0] == 1 || x.batch[0] * element % bytes == 0) &&
           (p.batch[1] == 1 || x.batch[1] * element % bytes == 0);
  };
  dense.copy_bytes = all_at(16) ? 16 : all_at(4) ? 4 : 2;
  return dense;
}

GemmOperand Transposed(GemmOperand x) {
  std::swap(x.row, x.column);
  return x;
}

// D' = B' A': results are stored by rows.
GemmProblem Transposed(GemmProblem p) {
  std::swap(p.m, p.n);
  std::swap(p.m_index, p.n_index);
  std::swap(p.a, p.b);
  for (GemmOperand* x : {&p.a, &p.b, &p.c, &p.d}) {
    *x = Transposed(*x);
  }
  return p;
}

bool Suits(const GemmProblem& p, const DeviceInfo& device) {
  const bool plain = p.m <= p.m_index.e0 && p.n <= p.n_index.e0 && p.k <= p.k_index.e0;
  return plain && p.a.dtype == p.b.dtype && std::min(p.m, p.n) >= kMinSide && p.k > 0 &&
         TunableGemm(device, p.a.dtype) == "gemm_mma";
}

MmaArgs MakeArgs(const GemmProblem& p, const DenseMatrix& a, const DenseMatrix& b) {
  const auto narrow = [](std::int64_t v) { return static_cast<std::int32_t>(v); };
  auto args = SharedGemmArgs<MmaArgs>(p);
  args.a_pitch = narrow(a.pitch);
  args.b_pitch = narrow(b.pitch);
  args.d_m = narrow(p.d.row[0]);
  args.d_n = narrow(p.d.column[0]);
  const bool even =
      p.d.offset % 2 == 0 && p.d.row[0] % 2 == 0 && p.d.batch[0] % 2 == 0 && p.d.batch[1] % 2 == 0;
  args.d_pairs = p.d.column[0] == 1 && even ? 1 : 0;
  return args;
}

std::string Options(const GemmProblem& p, const GemmTile& t, const DenseMatrix& a,
                    const DenseMatrix& b) {
  return TypeOption("TA", p.a.dtype) + TypeOption("TD", p.d.dtype) +
         fmt::format(
             " -DTILE_M={} -DTILE_N={} -DDEPTH={} -DWARP_M={} -DWARP_N={} -DSTAGES={}"
             " -DA_BY_K={} -DB_BY_K={} -DCOPY_A={} -DCOPY_B={}",
             t.m, t.n, t.k, t.warp_m, t.warp_n, t.stages, int{a.by_k}, int{b.by_k}, a.copy_bytes,
             b.copy_bytes);
}

}  // namespace

std::optional<DeviceKernel> MmaLaunch(const GemmProblem& problem, const DeviceInfo& device) {
  if (!Suits(problem, device)) {
    return std::nullopt;
  }
  const bool by_columns = problem.d.row[0] == 1 && problem.d.column[0] != 1;
  const GemmProblem p =
      by_columns && problem.triangle == GemmTriangle::kAll ? Transposed(problem) : problem;
  const auto a = Densely(p.a, p, p.m, p.a.row[0], p.a.column[0]);
  const auto b = Densely(p.b, p, p.n, p.b.column[0], p.b.row[0]);
  if (!a || !b) {
    return std::nullopt;
  }
  const std::int64_t batch = p.batch[0] * p.batch[1];
  const GemmKind kind = {"gemm_mma", p.a.dtype, GemmLayout(a->by_k, !b->by_k),
                         GemmSizeClass(p.m * p.n * batch)};
  const GemmTile t = ChooseMmaTile(device, kind, p.m, p.n, batch);
  DeviceKernel launch;
  launch.program = "gemm_mma.cl";
  launch.entry = "gemm_mma";
  launch.options = Options(p, t, *a, *b);
  launch.args = {p.a.buffer, p.b.buffer, AddendOf(p).buffer, p.d.buffer,
                 StructArg(MakeArgs(p, *a, *b))};
  const auto threads = static_cast<std::size_t>(t.m / t.warp_m * (t.n / t.warp_n)) * 32;
  const auto tiles = static_cast<std::size_t>((p.m + t.m - 1) / t.m * ((p.n + t.n - 1) / t.n));
  launch.global = {tiles * threads * static_cast<std::size_t>(batch), 1, 1};
  launch.local = {threads, 1, 1};
  return launch;
}

bool TensorCoresWork(Device& device) {
  if (device.info().compute_capability < kMmaCapability) {
    return false;
  }
  const Status works = CheckTensorCores(device);
  if (!works) {
    LogWarning("tensor cores are not used: " + works.error().message);
  }
  return works.has_value();
}

}  // namespace reprise
