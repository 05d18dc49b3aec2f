// Largest and smallest elements along a dimension with their indices:
// kernels/ops/reductions/extrema.cl.
#include <cmath>
#include <optional>

#include "kernels/ops/common/host_values.h"
#include "kernels/ops/common/parsed_kernel.h"
#include "kernels/ops/reductions/reduction_plan.h"
#include "kernels/samples.h"

namespace reprise {
namespace {

struct ExtremaCall {
  const TensorDesc* x = nullptr;
  const TensorDesc* values = nullptr;  // nullptr for argmax, argmin
  const TensorDesc* indices = nullptr;
  std::vector<bool> reduced;
  bool largest = true;
};

// max(self, dim, keepdim) -> (values, indices); argmax(self, dim?, keepdim) -> indices
std::optional<ExtremaCall> ParseExtrema(const OpCall& call) {
  ExtremaCall p;
  const bool only_index = call.name.starts_with("aten::arg");
  p.largest = call.name == "aten::max" || call.name == "aten::argmax";
  p.x = call.InputTensor(0);
  p.values = only_index ? nullptr : call.OutputTensor(0);
  p.indices = call.OutputTensor(only_index ? 0 : 1);
  const Value& dim = call.Argument(1);
  if (p.x == nullptr || p.indices == nullptr || p.indices->dtype != DType::kInt64 ||
      !IsKernelType(p.x->dtype) || Count(*p.x) == 0) {
    return std::nullopt;
  }
  if (!only_index && (p.values == nullptr || p.values->dtype != p.x->dtype || !IsInt(dim))) {
    return std::nullopt;
  }
  if (!IsInt(dim) && !dim.IsNone()) {
    return std::nullopt;
  }
  const auto reduced = ReducedDims(dim, Rank(*p.x));
  if (!reduced) {
    return std::nullopt;
  }
  p.reduced = *reduced;
  const ReductionShape shape = ShapeReduction(*p.x, p.reduced);
  const std::int64_t results = shape.outer * shape.inner;
  const bool fits =
      Count(*p.indices) == results && (p.values == nullptr || Count(*p.values) == results);
  return fits ? std::optional(p) : std::nullopt;
}

// The first of equal ones wins, and NaN over every number.
template <typename T>
bool Beats(T v, T best, bool largest) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(best)) {
      return false;
    }
    if (std::isnan(v)) {
      return true;
    }
  }
  return largest ? v > best : v < best;
}

template <typename T>
void Find(const std::vector<T>& x, std::size_t rows, bool largest, std::vector<T>& values,
          Integers& indices) {
  const std::size_t n = x.size() / rows;
  for (std::size_t row = 0; row < rows; ++row) {
    std::size_t best = 0;
    for (std::size_t i = 1; i < n; ++i) {
      if (Beats(x[row * n + i], x[row * n + best], largest)) {
        best = i;
      }
    }
    values.push_back(x[row * n + best]);
    indices.push_back(static_cast<std::int64_t>(best));
  }
}

Status ReferenceExtrema(const ExtremaCall& p, const HostBindings& memory) {
  const TensorDesc view = ReducedLast(*p.x, p.reduced);
  const auto rows = static_cast<std::size_t>(Count(*p.indices));
  return InKindOf(p.x->dtype, [&](auto* read, auto* write) -> Status {
    REPRISE_ASSIGN(const auto x, read(view, memory));
    std::remove_const_t<decltype(x)> values;
    Integers indices;
    Find(x, rows, p.largest, values, indices);
    if (p.values != nullptr) {
      REPRISE_TRY(write(*p.values, memory, values));
    }
    return WriteIntegers(*p.indices, memory, indices);
  });
}

void LowerExtrema(const ExtremaCall& p, RowLowering& rows) {
  rows.UseTypes({{"X", p.x->dtype}}, AccumulatorOf(p.x->dtype));
  const ReductionShape shape = ShapeReduction(*p.x, p.reduced);
  const DenseOperand x = rows.Read(shape.view);
  rows.LaunchRows("extremum", shape.outer * shape.inner, static_cast<double>(shape.n), x,
                  rows.WriteOr(p.values, x), rows.Write(*p.indices), shape.outer, shape.n,
                  shape.inner, p.largest, p.values != nullptr, true);
}

std::vector<OpCall> ExtremaSamples() {
  using samples::Bool, samples::Int, samples::None;
  std::vector<OpCall> calls;
  for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kBFloat16, DType::kInt64}) {
    samples::SampleTensors t;
    const TensorDesc x = t.Tensor(dtype, {4, 23, 3});
    const TensorDesc cut = t.Strided(dtype, {4, 6}, {9, 1}, 2);
    const TensorDesc values = t.Tensor(dtype, {4, 1, 3});
    const TensorDesc indices = t.Tensor(DType::kInt64, {4, 1, 3});
    const TensorDesc short_values = t.Tensor(dtype, {4});
    const TensorDesc short_indices = t.Strided(DType::kInt64, {4}, {2});
    const TensorDesc at = t.Tensor(DType::kInt64, {});
    for (const char* name : {"aten::max", "aten::min"}) {
      calls.push_back({name, {{x}, Int(1), Bool(true)}, {{values}, {indices}}});
      calls.push_back({name, {{cut}, Int(-1), Bool(false)}, {{short_values}, {short_indices}}});
    }
    for (const char* name : {"aten::argmax", "aten::argmin"}) {
      calls.push_back({name, {{x}, Int(-2), Bool(true)}, {{indices}}});
      calls.push_back({name, {{x}, None(), Bool(false)}, {{at}}});
    }
  }
  return calls;
}

}  // namespace

std::unique_ptr<Kernel> MakeExtrema() {
  return MakeParsedKernel({"extrema", "extrema.cl", ExtremaSamples},
                          CallForm<ExtremaCall>{ParseExtrema, ReferenceExtrema, LowerExtrema});
}

}  // namespace reprise
