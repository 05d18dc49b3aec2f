#include "kernels/ops/products/gemm_launch.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "kernels/device_lowering.h"
#include "kernels/ops/products/gemm_mma.h"
#include "kernels/ops/products/gemm_tiles.h"

namespace reprise {
namespace {

// Of gemm_cpu.cl; the block is the most that fits, unless tuning found a smaller one better.
constexpr GemmTile kBlock = {.n = 256, .k = 256};
constexpr std::int64_t kRowGrain = 12;  // multiple of every MR
constexpr std::int64_t kColumnGrain = 32;
constexpr std::int64_t kTriangleRows = 192;
// Of gemm_tiled.cl.
constexpr std::int64_t kTile = 64;
// Of gemm_plain.cl: neighbours of one group, which a CPU computes as vectors.
constexpr std::int64_t kPlainGroup = 32;
// Work for about 100 us of a core: less is not worth a second one.
constexpr double kFlopsPerItem = 1e7;

std::int64_t CeilDiv(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
std::int64_t RoundTo(std::int64_t a, std::int64_t b) { return CeilDiv(a, b) * b; }
std::int64_t BatchCount(const GemmProblem& p) { return p.batch[0] * p.batch[1]; }

bool IsSmallFloat(DType dtype) {
  return dtype == DType::kFloat32 || dtype == DType::kBFloat16 || dtype == DType::kFloat16;
}

// The same struct as in gemm.cl.
struct GemmArgs {
  std::int64_t a_at, b_at, c_at, d_at, part_at;
  std::array<std::int64_t, 2> a_z, b_z, c_z, d_z;
  std::int64_t c_m, c_n;
  std::int32_t m, n, k, z_e0;
  std::array<std::int32_t, 2> m_e, n_e, k_e;
  std::array<std::int32_t, 3> a_m, a_k, b_k, b_n, d_m, d_n;
  std::int32_t triangle;
  std::int32_t m_block, n_block, k_block;
  float alpha, beta;
};

std::int32_t Narrow(std::int64_t value) { return static_cast<std::int32_t>(value); }
std::array<std::int32_t, 2> Narrow(const GemmIndex& i) { return {Narrow(i.e0), Narrow(i.e1)}; }
std::array<std::int32_t, 3> Narrow(const GemmStrides& s) {
  return {Narrow(s[0]), Narrow(s[1]), Narrow(s[2])};
}

GemmArgs MakeArgs(const GemmProblem& p) {
  auto args = SharedGemmArgs<GemmArgs>(p);
  args.part_at = p.d.offset;
  args.m_e = Narrow(p.m_index);
  args.n_e = Narrow(p.n_index);
  args.k_e = Narrow(p.k_index);
  args.a_m = Narrow(p.a.row);
  args.a_k = Narrow(p.a.column);
  args.b_k = Narrow(p.b.row);
  args.b_n = Narrow(p.b.column);
  args.d_m = Narrow(p.d.row);
  args.d_n = Narrow(p.d.column);
  return args;
}

DeviceKernel MakeLaunch(const GemmProblem& p, std::string entry) {
  DeviceKernel launch;
  launch.program = entry + ".cl";
  launch.entry = std::move(entry);
  launch.options = "-DACC_NAME=float32 -DV=16 -DL=1" + TypeOption("TA", p.a.dtype) +
                   TypeOption("TB", p.b.dtype) + TypeOption("TD", p.d.dtype);
  launch.args = {p.a.buffer, p.b.buffer, AddendOf(p).buffer, p.d.buffer};
  return launch;
}

// Elements from D's first to one past its last, over all indices.
std::int64_t ResultExtent(const GemmProblem& p) {
  const auto last = [](const GemmIndex& index, std::int64_t count, const GemmStrides& s) {
    const std::int64_t i0 = std::min(index.e0, count) - 1;
    const std::int64_t i1 = std::min(index.e1, CeilDiv(count, index.e0)) - 1;
    const std::int64_t i2 = CeilDiv(count, index.e0 * index.e1) - 1;
    return i0 * s[0] + i1 * s[1] + i2 * s[2];
  };
  return 1 + last(p.m_index, p.m, p.d.row) + last(p.n_index, p.n, p.d.column) +
         (p.batch[0] - 1) * p.d.batch[0] + (p.batch[1] - 1) * p.d.batch[1];
}

// How a product is cut among the work-items of a CPU.
struct Blocks {
  std::int64_t rows, columns, depth;
};

GemmTile BlockForCpu(const GemmProblem& p, const DeviceInfo& device) {
  const GemmTile* tuned = FindTunedGemm(
      device.tuning, {"gemm_cpu", p.a.dtype, GemmLayout(p.a.column[0] == 1, p.b.column[0] == 1),
                      GemmSizeClass(p.m * p.n * BatchCount(p))});
  return tuned != nullptr ? *tuned : kBlock;
}

// Work-items that share a product's rows pack the same B, those that share its columns the same A
// (which costs less: rows are copied, not transposed, mostly). The cut that packs least wins.
Blocks CutForCpu(const GemmProblem& p, const DeviceInfo& device) {
  const GemmTile block = BlockForCpu(p, device);
  const std::int64_t units = std::max(device.compute_units, 1);
  const auto flops =
      2.0 * static_cast<double>(p.m * p.n) * static_cast<double>(p.k * BatchCount(p));
  const std::int64_t most = units * 2;  // evens out
  // A triangle's blocks have to be short to leave much out.
  const std::int64_t down_least =
      p.triangle != GemmTriangle::kAll ? CeilDiv(p.m, kTriangleRows) : 1;
  const auto wanted =
      std::clamp<std::int64_t>(static_cast<std::int64_t>(flops / kFlopsPerItem), 1, most);
  const std::int64_t least = CeilDiv(p.n, block.n);
  // A window's short rows are gathered element by element.
  const bool runs = (p.b.column[0] == 1 && std::min(p.n, p.n_index.e0) >= 16) ||
                    (p.b.row[0] == 1 && std::min(p.k, p.k_index.e0) >= 16);
  const double right_cost = runs ? 1.5 : 10;
  double best = std::numeric_limits<double>::infinity();
  Blocks blocks = {};
  for (std::int64_t across = least; across <= CeilDiv(p.n, kColumnGrain); ++across) {
    std::int64_t down = std::max(down_least, CeilDiv(wanted, across * BatchCount(p)));
    while (wanted >= units && down * across * BatchCount(p) % units != 0) {
      ++down;
    }
    const double packed =
        static_cast<double>(p.m * across) + right_cost * static_cast<double>(p.n * down);
    if (packed < best) {
      best = packed;
      blocks.rows = std::max(RoundTo(CeilDiv(p.m, down), kRowGrain), 2 * kRowGrain);
      blocks.columns = RoundTo(CeilDiv(p.n, across), kColumnGrain);
    }
    if (across - least > most) {
      break;
    }
  }
  const std::int64_t deep = std::max<std::int64_t>(1, CeilDiv(p.k, block.k));
  blocks.depth = RoundTo(CeilDiv(std::max<std::int64_t>(p.k, 1), deep), 16);
  return blocks;
}

Result<Launch> BlocksForCpu(const GemmProblem& p, const LowerContext& context, int scratch_slot) {
  const Blocks blocks = CutForCpu(p, context.device);
  GemmArgs args = MakeArgs(p);
  args.m_block = Narrow(blocks.rows);
  args.n_block = Narrow(blocks.columns);
  args.k_block = Narrow(blocks.depth);
  // Partial sums of deep products stay in float32: in D if it is that, else beside it.
  Buffer* part = p.d.buffer;
  if (p.d.dtype != DType::kFloat32 && p.k > blocks.depth) {
    REPRISE_ASSIGN(part, context.scratch(scratch_slot, 4 * ResultExtent(p)));
    args.part_at = 0;
  }
  DeviceKernel launch = MakeLaunch(p, "gemm_cpu");
  launch.args.emplace_back(part);
  launch.args.push_back(StructArg(args));
  launch.global = {static_cast<std::size_t>(CeilDiv(p.n, blocks.columns)),
                   static_cast<std::size_t>(CeilDiv(p.m, blocks.rows)),
                   static_cast<std::size_t>(BatchCount(p))};
  launch.local = {1, 1, 1};
  return launch;
}

DeviceKernel TiledForGpu(const GemmProblem& p) {
  DeviceKernel launch = MakeLaunch(p, "gemm_tiled");
  launch.args.push_back(StructArg(MakeArgs(p)));
  launch.global = {
      static_cast<std::size_t>(CeilDiv(p.n, kTile) * CeilDiv(p.m, kTile) * BatchCount(p)) * 16, 16,
      1};
  launch.local = {16, 16, 1};
  return launch;
}

Result<Launch> PlainProduct(const GemmProblem& p, const DeviceInfo& device) {
  REPRISE_TRY(CheckHasType(p.d.dtype, device));
  if (p.batch[1] != 1 || p.m > p.m_index.e0 || p.n > p.n_index.e0 || p.k > p.k_index.e0) {
    return UsageError("a product of " + std::string(Name(p.d.dtype)) + " takes plain matrices");
  }
  const bool floating = IsFloating(p.d.dtype);
  DeviceKernel launch;
  launch.program = "gemm_plain.cl";
  launch.entry = "gemm_plain";
  launch.options = std::string(floating ? "-DACC_NAME=float64" : "-DACC_NAME=int64") +
                   " -DV=16 -DL=1" + TypeOption("T", p.d.dtype);
  for (const GemmOperand* x : {&p.a, &p.b, &AddendOf(p), &p.d}) {
    launch.args.emplace_back(x->buffer);
    for (const std::int64_t v : {x->offset, x->batch[0], x->row[0], x->column[0]}) {
      launch.args.emplace_back(v);
    }
  }
  launch.args.emplace_back(p.n);
  launch.args.emplace_back(p.m);
  launch.args.emplace_back(p.k);
  for (const double v : {p.alpha, p.c.buffer != nullptr ? p.beta : 0.0}) {
    if (floating) {
      launch.args.emplace_back(v);
    } else {
      launch.args.emplace_back(static_cast<std::int64_t>(v));
    }
  }
  launch.global = {static_cast<std::size_t>(RoundTo(p.n, kPlainGroup) * p.m * p.batch[0]), 1, 1};
  launch.local = {kPlainGroup, 1, 1};
  return launch;
}

Result<Launch> ProductLaunch(const GemmProblem& p, const LowerContext& context, int scratch_slot) {
  if (!IsSmallFloat(p.d.dtype)) {
    return PlainProduct(p, context.device);
  }
  if (context.device.is_cpu) {
    return BlocksForCpu(p, context, scratch_slot);
  }
  auto launch = MmaLaunch(p, context.device);
  return launch ? std::move(*launch) : TiledForGpu(p);
}

}  // namespace

bool GemmTypesSupported(DType a, DType b, DType d) {
  if (IsSmallFloat(a) && IsSmallFloat(b) && IsSmallFloat(d)) {
    return true;
  }
  return a == b && b == d && d != DType::kBool && IsKernelType(d);
}

Result<std::vector<Launch>> LowerGemm(const GemmProblem& problem, const LowerContext& context,
                                      int scratch_slot) {
  if (problem.m == 0 || problem.n == 0 || BatchCount(problem) == 0) {
    return std::vector<Launch>();
  }
  REPRISE_ASSIGN(Launch launch, ProductLaunch(problem, context, scratch_slot));
  return std::vector{std::move(launch)};
}

}  // namespace reprise
