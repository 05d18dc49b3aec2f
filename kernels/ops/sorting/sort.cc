// Sorting along a dimension, and its first k: kernels/ops/sorting/sort.cl.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "core/costs/call_meaning.h"
#include "kernels/cpu/parallel_for.h"
#include "kernels/ops/common/host_floats.h"
#include "kernels/ops/common/host_values.h"
#include "kernels/ops/common/parsed_kernel.h"
#include "kernels/ops/sorting/sort_run.h"
#include "kernels/samples.h"

namespace reprise {
namespace {

// Sorting an element takes about as long as moving so many bytes.
constexpr double kSortBytesWorth = 100;

struct SortCall {
  const TensorDesc* self = nullptr;
  const TensorDesc* values = nullptr;  // none for argsort
  const TensorDesc* indices = nullptr;
  std::int64_t dim = 0;
  std::int64_t k = 0;
  bool descending = false;
};

// sort(self, dim, descending), sort.stable(self, stable, dim, descending), argsort alike;
// topk(self, k, dim, largest, sorted). A stable order is a valid answer to all of them.
std::optional<SortCall> ParseSort(const OpCall& call) {
  SortCall p;
  p.self = call.InputTensor(0);
  const bool argsort = call.name == "aten::argsort";
  p.values = argsort ? nullptr : call.OutputTensor(0);
  p.indices = call.OutputTensor(argsort ? 0 : 1);
  if (p.self == nullptr || p.indices == nullptr || (!argsort && p.values == nullptr) ||
      p.indices->dtype != DType::kInt64 || !IsKernelType(p.self->dtype) ||
      (p.values != nullptr && p.values->dtype != p.self->dtype)) {
    return std::nullopt;
  }
  const bool topk = call.name == "aten::topk";
  const std::size_t at = SortDimArgument(call);
  const auto dim = SortDim(call);
  if (!dim) {
    return std::nullopt;
  }
  p.dim = static_cast<std::int64_t>(*dim);
  p.descending = TruthOr(call.Argument(at + 1), topk);
  const std::int64_t n = ExtentOf(*p.self, p.dim);
  p.k = topk ? std::clamp<std::int64_t>(call.Argument(1).AsNumber<std::int64_t>(0), 0, n) : n;
  const std::int64_t rows = n == 0 ? 0 : Count(*p.self) / n;
  if (Count(*p.indices) != rows * p.k) {
    return std::nullopt;
  }
  return p;
}

TensorDesc Lines(const TensorDesc& tensor, std::int64_t dim) {
  return WithLast(AtLeast1D(tensor), dim);
}

// The order of one line; NaN counts as the largest, as in PyTorch.
template <typename T>
std::vector<std::size_t> OrderOf(const T* line, std::int64_t n, bool descending) {
  std::vector<std::size_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto less = [](T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
      return (!std::isnan(a) && std::isnan(b)) || a < b;
    } else {
      return a < b;
    }
  };
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return descending ? less(line[b], line[a]) : less(line[a], line[b]);
  });
  return order;
}

Status Write(const SortCall& p, const Integers& indices, const Bits& values,
             const HostBindings& memory) {
  REPRISE_TRY(WriteIntegers(Lines(*p.indices, p.dim), memory, indices));
  return p.values == nullptr ? Status{} : WriteBits(Lines(*p.values, p.dim), memory, values);
}

template <typename T>
Status SortLines(const SortCall& p, const std::vector<T>& keys, const HostBindings& memory) {
  REPRISE_ASSIGN(const Bits bits, ReadBits(Lines(*p.self, p.dim), memory));
  const std::int64_t n = ExtentOf(*p.self, p.dim);
  Integers indices;
  Bits values;
  for (std::size_t begin = 0; begin < keys.size(); begin += static_cast<std::size_t>(n)) {
    const auto order = OrderOf(keys.data() + begin, n, p.descending);
    for (std::size_t i = 0; i < static_cast<std::size_t>(p.k); ++i) {
      indices.push_back(static_cast<std::int64_t>(order[i]));
      values.push_back(bits[begin + order[i]]);
    }
  }
  return Write(p, indices, values, memory);
}

// SortLines for one type of key; the lines are sorted in parallel.
template <typename Key, typename Values>
Status SortByKey(const SortCall& p, const Values& x, const HostBindings& memory) {
  REPRISE_ASSIGN(const Bits bits, ReadBits(Lines(*p.self, p.dim), memory));
  const std::int64_t n = ExtentOf(*p.self, p.dim);
  const std::int64_t lines = n == 0 ? 0 : Count(*p.self) / n;
  Integers indices(static_cast<std::size_t>(lines * p.k));
  Bits values(indices.size());
  const Key flip = p.descending ? ~Key{0} : Key{0};
  ParallelFor(lines, GrainSize(kSortBytesWorth * static_cast<double>(n)),
              [&](auto begin, auto end) {
                std::vector<SortItem<Key>> items;
                for (std::int64_t line = begin; line < end; ++line) {
                  items.resize(static_cast<std::size_t>(n));
                  for (std::int64_t i = 0; i < n; ++i) {
                    const Key key = SortKey(x[static_cast<std::size_t>(line * n + i)]) ^ flip;
                    items[static_cast<std::size_t>(i)] = {key, static_cast<std::uint32_t>(i)};
                  }
                  SortItems(items, p.k);
                  for (std::int64_t i = 0; i < p.k; ++i) {
                    const std::int64_t from = items[static_cast<std::size_t>(i)].index;
                    indices[static_cast<std::size_t>(line * p.k + i)] = from;
                    values[static_cast<std::size_t>(line * p.k + i)] =
                        bits[static_cast<std::size_t>(line * n + from)];
                  }
                }
              });
  return Write(p, indices, values, memory);
}

Status ReferenceSort(const SortCall& p, const HostBindings& memory) {
  return InKindOf(p.self->dtype, [&](auto* read, auto* /*write*/) -> Status {
    REPRISE_ASSIGN(const auto keys, read(Lines(*p.self, p.dim), memory));
    return SortLines(p, keys, memory);
  });
}

Status RunSortOnHost(const SortCall& p, const HostBindings& memory) {
  const TensorDesc self = Lines(*p.self, p.dim);
  if (AreFloats({p.self})) {
    REPRISE_ASSIGN(const FloatsIn keys, FloatsIn::Read(self, memory));
    return SortByKey<std::uint32_t>(p, keys, memory);
  }
  return InKindOf(p.self->dtype, [&](auto* read, auto* /*write*/) -> Status {
    REPRISE_ASSIGN(const auto keys, read(self, memory));
    return SortByKey<std::uint64_t>(p, keys, memory);
  });
}

void LowerSort(const SortCall& p, RowLowering& rows) {
  rows.UseTypes({{"X", p.self->dtype}, {"I", DType::kInt64}}, AccumulatorOf(p.self->dtype));
  SortJob job{.dtype = p.self->dtype, .n = ExtentOf(*p.self, p.dim), .k = p.k};
  job.lines = job.n == 0 ? 0 : Count(*p.self) / job.n;
  job.descending = p.descending;
  job.want_values = p.values != nullptr;
  job.x = rows.Read(Lines(*p.self, p.dim));
  job.indices = rows.Write(Lines(*p.indices, p.dim));
  if (p.values != nullptr) {
    job.values = rows.Write(Lines(*p.values, p.dim));
  }
  AppendSort(rows, job);
}

std::vector<OpCall> SortSamples() {
  using samples::Bool, samples::Int;
  std::vector<OpCall> calls;
  for (const DType dtype :
       {DType::kFloat32, DType::kFloat64, DType::kBFloat16, DType::kInt64, DType::kInt32}) {
    samples::SampleTensors t;
    const TensorDesc self = t.Strided(dtype, {3, 77, 2}, {1, 6, 3});
    const TensorDesc values = t.Tensor(dtype, {3, 77, 2});
    const TensorDesc indices = t.Tensor(DType::kInt64, {3, 77, 2});
    const TensorDesc few = t.Tensor(dtype, {3, 5, 2});
    const TensorDesc few_indices = t.Tensor(DType::kInt64, {3, 5, 2});
    calls.push_back({"aten::sort", {{self}, Int(1), Bool(false)}, {{values}, {indices}}});
    calls.push_back(
        {"aten::sort", {{self}, Bool(true), Int(-2), Bool(true)}, {{values}, {indices}}});
    calls.push_back({"aten::argsort", {{self}, Int(0), Bool(true)}, {{indices}}});
    calls.push_back(
        {"aten::topk", {{self}, Int(5), Int(1), Bool(true), Bool(true)}, {{few}, {few_indices}}});
    const TensorDesc rows = t.Tensor(dtype, {3, 1000});
    calls.push_back({"aten::sort",
                     {{rows}, Int(-1), Bool(true)},
                     {{t.Tensor(dtype, {3, 1000})}, {t.Tensor(DType::kInt64, {3, 1000})}}});
  }
  for (const std::vector<std::int64_t>& shape : {Dims{}, Dims{1}, Dims{0, 4}}) {
    samples::SampleTensors t;
    const auto values = [&] { return Value{t.Tensor(DType::kFloat32, shape)}; };
    calls.push_back({"aten::sort",
                     {values(), Int(-1), Bool(false)},
                     {values(), Value{t.Tensor(DType::kInt64, shape)}}});
  }
  return calls;
}

}  // namespace

std::unique_ptr<Kernel> MakeSort() {
  return MakeParsedKernel({"sort", "sort.cl", SortSamples},
                          CallForm<SortCall>{ParseSort, ReferenceSort, LowerSort, RunSortOnHost});
}

}  // namespace reprise
