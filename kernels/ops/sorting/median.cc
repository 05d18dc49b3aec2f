// Elements by their rank: median, nanmedian, kthvalue. Lines are sorted, then one of each is taken:
// kernels/ops/sorting/sort.cl.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "kernels/cpu/parallel_for.h"
#include "kernels/ops/common/host_values.h"
#include "kernels/ops/common/parsed_kernel.h"
#include "kernels/ops/sorting/sort_run.h"
#include "kernels/samples.h"

namespace reprise {
namespace {

enum class MedianMode : std::int32_t { kRank, kMedian, kNanMedian };  // as in sort.cl

struct MedianCall {
  MedianMode mode = MedianMode::kMedian;
  TensorDesc lines;  // self, the line's dimension last
  const TensorDesc* values = nullptr;
  const TensorDesc* indices = nullptr;  // none where the median is of all elements
  std::int64_t n = 0, rank = 0;
};

// median(self), median(self, dim, keepdim) -> (values, indices), nanmedian alike;
// kthvalue(self, k, dim=-1, keepdim)
std::optional<MedianCall> ParseMedian(const OpCall& call) {
  MedianCall p;
  const bool by_rank = call.name == "aten::kthvalue";
  p.mode = by_rank                          ? MedianMode::kRank
           : call.name == "aten::nanmedian" ? MedianMode::kNanMedian
                                            : MedianMode::kMedian;
  const TensorDesc* self = call.InputTensor(0);
  p.values = call.OutputTensor(0);
  p.indices = call.OutputTensor(1);
  if (self == nullptr || p.values == nullptr || p.values->dtype != self->dtype ||
      !IsKernelType(self->dtype) || self->dtype == DType::kBool || Count(*self) == 0) {
    return std::nullopt;
  }
  if (p.indices == nullptr) {  // of all elements, in whatever order
    p.n = Count(*self);
    p.lines = *self;
    return !by_rank && Count(*p.values) == 1 ? std::optional(p) : std::nullopt;
  }
  const auto dim = WrapDim(call.Argument(by_rank ? 2 : 1).AsNumber<std::int64_t>(-1), Rank(*self));
  if (!dim) {
    return std::nullopt;
  }
  p.lines = WithLast(AtLeast1D(*self), *dim);
  p.n = ExtentOf(*self, *dim);
  p.rank = by_rank ? call.Argument(1).AsNumber<std::int64_t>(0) - 1 : 0;
  const std::int64_t results = Count(*self) / p.n;
  const bool fits = p.indices->dtype == DType::kInt64 && Count(*p.values) == results &&
                    Count(*p.indices) == results && p.rank >= 0 && p.rank < p.n;
  return fits ? std::optional(p) : std::nullopt;
}

bool IsNan(double value) { return std::isnan(value); }
bool IsNan(std::int64_t /*value*/) { return false; }

// Where one line has its answer; its index among elements that are equal is the lowest.
template <typename T>
std::int64_t Pick(const MedianCall& p, const T* line) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(p.n));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  const auto nans = std::count_if(line, line + p.n, [](T value) { return IsNan(value); });
  std::int64_t at = p.rank;
  if (p.mode == MedianMode::kMedian) {
    at = nans > 0 ? p.n - nans : (p.n - 1) / 2;
  } else if (p.mode == MedianMode::kNanMedian) {
    at = std::max<std::int64_t>(p.n - nans - 1, 0) / 2;
  }
  std::nth_element(order.begin(), order.begin() + at, order.end(),
                   [&](std::int64_t a, std::int64_t b) {
                     const auto x = SortKey(line[a]);
                     const auto y = SortKey(line[b]);
                     return x != y ? x < y : a < b;
                   });
  return order[static_cast<std::size_t>(at)];
}

template <typename T>
Status PickAll(const MedianCall& p, const std::vector<T>& x, const HostBindings& memory) {
  REPRISE_ASSIGN(const Bits bits, ReadBits(p.lines, memory));
  const std::int64_t lines = Count(p.lines) / p.n;
  Integers indices(static_cast<std::size_t>(lines));
  Bits values(indices.size());
  ParallelFor(lines, GrainSize(10.0 * static_cast<double>(p.n)), [&](auto begin, auto end) {
    for (std::int64_t line = begin; line < end; ++line) {
      const std::int64_t at = Pick(p, x.data() + line * p.n);
      indices[static_cast<std::size_t>(line)] = at;
      values[static_cast<std::size_t>(line)] = bits[static_cast<std::size_t>(line * p.n + at)];
    }
  });
  REPRISE_TRY(WriteBits(*p.values, memory, values));
  return p.indices == nullptr ? Status{} : WriteIntegers(*p.indices, memory, indices);
}

Status ReferenceMedian(const MedianCall& p, const HostBindings& memory) {
  return InKindOf(p.lines.dtype, [&](auto* read, auto* /*write*/) -> Status {
    REPRISE_ASSIGN(const auto x, read(p.lines, memory));
    return PickAll(p, x, memory);
  });
}

void LowerMedian(const MedianCall& p, RowLowering& rows) {
  const DType dtype = p.lines.dtype;
  rows.UseTypes({{"X", dtype}, {"I", DType::kInt64}}, AccumulatorOf(dtype));
  const std::int64_t count = Count(p.lines);
  SortJob job{.dtype = dtype, .lines = count / p.n, .n = p.n, .k = p.n};
  job.x = rows.Read(p.lines);
  job.values = rows.Scratch(count * SizeOf(dtype));
  job.indices = rows.Scratch(count * SizeOf(DType::kInt64));
  AppendSort(rows, job);
  rows.LaunchItems("take_rank", job.lines, job.values, job.indices, rows.Write(*p.values),
                   rows.WriteOr(p.indices, job.indices), job.lines, p.n,
                   static_cast<std::int32_t>(p.mode), p.rank, p.indices != nullptr);
}

std::vector<OpCall> MedianSamples() {
  using enum DType;
  using samples::Bool, samples::Int;
  std::vector<OpCall> calls;
  for (const DType dtype : {kFloat32, kFloat64, kFloat16, kBFloat16, kInt32, kInt64}) {
    samples::SampleTensors t;
    const Value self{t.Strided(dtype, {3, 37, 2}, {1, 6, 3})};
    const Value values{t.Tensor(dtype, {3, 1, 2})};
    const Value indices{t.Tensor(kInt64, {3, 1, 2})};
    const Value one{t.Tensor(dtype, {})};
    for (const char* name : {"aten::median", "aten::nanmedian"}) {
      calls.push_back({name, {self, Int(1), Bool(true)}, {values, indices}});
      calls.push_back({name, {self}, {one}});
    }
    calls.push_back({"aten::kthvalue", {self, Int(5), Int(-2), Bool(true)}, {values, indices}});
  }
  samples::SampleTensors t;
  const Value scalar{t.Tensor(kFloat32, {})};
  const Value vector{t.Tensor(kFloat32, {1000})};
  const Value value{t.Tensor(kFloat32, {})};
  const Value index{t.Tensor(kInt64, {})};
  calls.push_back({"aten::median", {scalar}, {value}});
  calls.push_back({"aten::median", {vector}, {value}});
  calls.push_back({"aten::kthvalue", {vector, Int(1000), Int(0), Bool(false)}, {value, index}});
  return calls;
}

}  // namespace

std::unique_ptr<Kernel> MakeMedian() {
  return MakeParsedKernel({"median", "sort.cl", MedianSamples},
                          CallForm<MedianCall>{ParseMedian, ReferenceMedian, LowerMedian});
}

}  // namespace reprise
