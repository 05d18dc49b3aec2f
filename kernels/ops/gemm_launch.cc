#include "kernels/ops/gemm_launch.h"

#include <algorithm>
#include <string>
#include <utility>

namespace reprise {
namespace {

// Of gemm_cpu.cl.
constexpr std::int64_t kBlockDepth = 256;
constexpr std::int64_t kBlockColumns = 256;
constexpr std::int64_t kRowGrain = 12;  // multiple of every MR
constexpr std::int64_t kColumnGrain = 32;
// Of gemm_tiled.cl.
constexpr std::int64_t kTile = 64;
// Work for about 40 us of a core: less is not worth a second one.
constexpr double kFlopsPerItem = 6e6;

std::int64_t CeilDiv(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
std::int64_t RoundUp(std::int64_t a, std::int64_t b) { return CeilDiv(a, b) * b; }
std::int64_t BatchCount(const GemmProblem& p) { return p.batch[0] * p.batch[1]; }

std::string ClType(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return "F32";
    case DType::kFloat64:
      return "F64";
    case DType::kFloat16:
      return "F16";
    case DType::kBFloat16:
      return "BF16";
    case DType::kInt8:
      return "I8";
    case DType::kUInt8:
      return "U8";
    case DType::kInt16:
      return "I16";
    case DType::kInt32:
      return "I32";
    case DType::kInt64:
      return "I64";
    default:
      return "";
  }
}

bool IsSmallFloat(DType dtype) {
  return dtype == DType::kFloat32 || dtype == DType::kBFloat16 || dtype == DType::kFloat16;
}

using Args = std::vector<DeviceKernel::Arg>;
void Append32(Args& args, std::initializer_list<std::int64_t> values) {
  for (const std::int64_t v : values) {
    args.emplace_back(static_cast<std::int32_t>(v));
  }
}

// Arguments that gemm_cpu and gemm_tiled share, up to the triangle. `part` is the CPU kernel's.
Args CommonArgs(const GemmProblem& p, Buffer* part, std::int64_t part_offset) {
  Args args;
  const GemmOperand& c = p.c.buffer != nullptr ? p.c : p.d;
  for (const GemmOperand* x : {&p.a, &p.b, &c, &p.d}) {
    args.emplace_back(x->buffer);
    args.emplace_back(x->offset);
    args.emplace_back(x->batch[0]);
    args.emplace_back(x->batch[1]);
  }
  if (part != nullptr) {
    args.emplace_back(part);
    args.emplace_back(part_offset);
  }
  Append32(args, {p.m, p.n, p.k, p.batch[0]});
  for (const GemmIndex& index : {p.m_index, p.n_index, p.k_index}) {
    Append32(args, {index.e0, index.e1});
  }
  for (const GemmStrides& s : {p.a.row, p.a.column, p.b.row, p.b.column, p.d.row, p.d.column}) {
    Append32(args, {s[0], s[1], s[2]});
  }
  args.emplace_back(c.row[0]);
  args.emplace_back(c.column[0]);
  args.emplace_back(static_cast<float>(p.alpha));
  args.emplace_back(static_cast<float>(p.c.buffer != nullptr ? p.beta : 0.0));
  args.emplace_back(static_cast<std::int32_t>(p.triangle));
  return args;
}

std::string TypeOptions(const GemmProblem& p) {
  return "-DACC_NAME=F32 -DV=16 -DL=1 -DTA=" + ClType(p.a.dtype) + " -DTB=" + ClType(p.b.dtype) +
         " -DTD=" + ClType(p.d.dtype);
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
Blocks CutForCpu(const GemmProblem& p, int compute_units) {
  Blocks blocks;
  const std::int64_t column_blocks = CeilDiv(p.n, kBlockColumns);
  blocks.columns = RoundUp(CeilDiv(p.n, column_blocks), kColumnGrain);
  const std::int64_t depth_blocks = std::max<std::int64_t>(1, CeilDiv(p.k, kBlockDepth));
  blocks.depth = RoundUp(CeilDiv(std::max<std::int64_t>(p.k, 1), depth_blocks), 16);

  const std::int64_t units = std::max(compute_units, 1);
  const std::int64_t others = column_blocks * BatchCount(p);
  const double flops = 2.0 * static_cast<double>(p.m * p.n) * static_cast<double>(p.k * others) /
                       static_cast<double>(column_blocks);
  // Two items a core even out; a triangle's blocks also have to be short to leave much out.
  const bool triangle = p.triangle != GemmTriangle::kAll;
  const auto wanted = std::clamp<std::int64_t>(static_cast<std::int64_t>(flops / kFlopsPerItem), 1,
                                               units * (triangle ? 8 : 2));
  std::int64_t row_blocks = CeilDiv(wanted, others);
  if (wanted >= units) {
    while (row_blocks * others % units != 0) {
      ++row_blocks;
    }
  }
  blocks.rows = std::max(RoundUp(CeilDiv(p.m, row_blocks), kRowGrain), 2 * kRowGrain);
  return blocks;
}

Status AppendForCpu(const GemmProblem& p, const LowerContext& context, int scratch_slot,
                    std::vector<Launch>& launches) {
  const Blocks blocks = CutForCpu(p, context.device.compute_units);
  // Partial sums of deep products stay in float32: in D if it is that, else beside it.
  Buffer* part = p.d.buffer;
  std::int64_t part_offset = p.d.offset;
  if (p.d.dtype != DType::kFloat32 && p.k > blocks.depth) {
    REPRISE_ASSIGN(part, context.scratch(scratch_slot, 4 * ResultExtent(p)));
    part_offset = 0;
  }
  Args args = CommonArgs(p, part, part_offset);
  Append32(args, {blocks.rows, blocks.columns, blocks.depth});
  launches.emplace_back(
      DeviceKernel{"gemm_cpu.cl",
                   "gemm_cpu",
                   TypeOptions(p),
                   std::move(args),
                   {static_cast<std::size_t>(CeilDiv(p.n, blocks.columns)),
                    static_cast<std::size_t>(CeilDiv(p.m, blocks.rows)),
                    static_cast<std::size_t>(BatchCount(p))},
                   {1, 1, 1}});
  return {};
}

Launch TiledForGpu(const GemmProblem& p) {
  return DeviceKernel{"gemm_tiled.cl",
                      "gemm_tiled",
                      TypeOptions(p),
                      CommonArgs(p, nullptr, 0),
                      {static_cast<std::size_t>(CeilDiv(p.n, kTile)) * 16,
                       static_cast<std::size_t>(CeilDiv(p.m, kTile)) * 16,
                       static_cast<std::size_t>(BatchCount(p))},
                      {16, 16, 1}};
}

Status AppendPlain(const GemmProblem& p, std::vector<Launch>& launches) {
  if (p.batch[1] != 1 || p.m > p.m_index.e0 || p.n > p.n_index.e0 || p.k > p.k_index.e0) {
    return UsageError("a product of " + std::string(Name(p.d.dtype)) + " takes plain matrices");
  }
  const bool floating = IsFloating(p.d.dtype);
  const GemmOperand& c = p.c.buffer != nullptr ? p.c : p.d;
  Args args;
  for (const GemmOperand* x : {&p.a, &p.b, &c, &p.d}) {
    args.emplace_back(x->buffer);
    for (const std::int64_t v : {x->offset, x->batch[0], x->row[0], x->column[0]}) {
      args.emplace_back(v);
    }
  }
  args.emplace_back(p.k);
  for (const double v : {p.alpha, p.c.buffer != nullptr ? p.beta : 0.0}) {
    if (floating) {
      args.emplace_back(v);
    } else {
      args.emplace_back(static_cast<std::int64_t>(v));
    }
  }
  launches.emplace_back(DeviceKernel{
      "gemm_plain.cl",
      "gemm_plain",
      std::string(floating ? "-DACC_NAME=F64" : "-DACC_NAME=I64") + " -DV=16 -DL=1 -DT=" +
          ClType(p.d.dtype),
      std::move(args),
      {static_cast<std::size_t>(p.n), static_cast<std::size_t>(p.m),
       static_cast<std::size_t>(p.batch[0])}});
  return {};
}

}  // namespace

bool GemmTypesSupported(DType a, DType b, DType d) {
  if (IsSmallFloat(a) && IsSmallFloat(b) && IsSmallFloat(d)) {
    return true;
  }
  return a == b && b == d && d != DType::kBool && !ClType(d).empty();
}

Status AppendGemm(const GemmProblem& problem, const LowerContext& context, int scratch_slot,
                  std::vector<Launch>& launches) {
  if (problem.m == 0 || problem.n == 0 || BatchCount(problem) == 0) {
    return {};
  }
  if (!IsSmallFloat(problem.d.dtype)) {
    return AppendPlain(problem, launches);
  }
  if (context.device.is_cpu) {
    return AppendForCpu(problem, context, scratch_slot, launches);
  }
  launches.push_back(TiledForGpu(problem));
  return {};
}

}  // namespace reprise
