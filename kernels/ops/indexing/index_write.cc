// Writing by index tensors, in place or into a copy: kernels/ops/indexing/index_write.cl.
#include <cstring>
#include <optional>

#include "kernels/cpu/parallel_for.h"
#include "kernels/ops/common/parsed_kernel.h"
#include "kernels/ops/indexing/indexed.h"
#include "kernels/samples.h"

namespace reprise {
namespace {

bool IsFill(const OpCall& call) { return call.name.starts_with("aten::index_fill"); }
bool IsAdd(const OpCall& call) { return call.name.starts_with("aten::index_add"); }
// A number for every index: what scatter does, by indices that repeat along the other dimensions.
bool IsScatter(const OpCall& call) {
  return call.name.starts_with("aten::scatter") || (IsFill(call) && call.InputTensor(3) == nullptr);
}

// scatter_(self, dim, index, source or value), scatter_add_(self, dim, index, source),
// index_fill_(self, dim, index, number).
struct Scatter {
  const TensorDesc* self = nullptr;
  const TensorDesc* target = nullptr;
  TensorDesc index;
  const TensorDesc* source = nullptr;  // none: `value`
  double value = 0;
  IndexWrite mode = IndexWrite::kSet;
  Around at;
};

// A one-dimensional index along `dim` of `self`, the same for all other dimensions.
std::optional<TensorDesc> Spread(const TensorDesc& index, const TensorDesc& self,
                                 const Value& dim) {
  const auto at = WrapDim(dim.AsNumber<std::int64_t>(0), Rank(self));
  if (!at || Rank(self) == 0 || Rank(index) > 1) {
    return std::nullopt;
  }
  TensorDesc spread = index;
  spread.shape = self.shape;
  spread.shape[static_cast<std::size_t>(*at)] = Count(index);
  spread.strides.assign(self.shape.size(), 0);
  spread.strides[static_cast<std::size_t>(*at)] = Rank(index) == 1 ? index.strides[0] : 1;
  spread.elements = Count(spread);
  return spread;
}

std::optional<Scatter> ParseScatter(const OpCall& call) {
  Scatter s{
      .self = call.InputTensor(0), .target = WriteTarget(call), .source = call.InputTensor(3)};
  const TensorDesc* index = call.InputTensor(2);
  if (!IsScatter(call) || s.target == nullptr || index == nullptr || !IsKernelType(s.self->dtype) ||
      call.inputs.size() > 4 || (s.source == nullptr && !IsNumber(call.Argument(3)))) {
    return std::nullopt;
  }
  const auto spread = IsFill(call) ? Spread(*index, *s.self, call.Argument(1)) : *index;
  if (!spread || (s.source != nullptr &&
                  (s.source->dtype != s.self->dtype || s.source->shape != spread->shape))) {
    return std::nullopt;
  }
  s.index = *spread;
  s.value = NumberOr(call.Argument(3), 0);
  s.mode = call.name.starts_with("aten::scatter_add") ? IndexWrite::kAdd : IndexWrite::kSet;
  const auto at = AlongDim(*s.self, s.index, call.Argument(1));
  if (!at) {
    return std::nullopt;
  }
  s.at = *at;
  return s;
}

struct Put {
  const TensorDesc* self = nullptr;
  const TensorDesc* target = nullptr;
  TensorDesc values;  // broadcast to what is selected
  Indexed indexed;
  IndexWrite mode = IndexWrite::kSet;
  double alpha = 1;
};

// index_put_(self, indices, values, accumulate), _index_put_impl_ with `unsafe` behind it;
// index_add_(self, dim, index, source, alpha), index_copy_(self, dim, index, source),
// index_fill_(self, dim, index, value).
std::optional<Put> ParsePut(const OpCall& call) {
  const bool along_dim = IsAdd(call) || IsFill(call) || call.name.starts_with("aten::index_copy");
  const TensorDesc* self = call.InputTensor(0);
  const TensorDesc* target = WriteTarget(call);
  const TensorDesc* values = call.InputTensor(along_dim ? 3 : 2);
  if (IsScatter(call) || target == nullptr || values == nullptr || values->dtype != self->dtype ||
      !IsKernelType(self->dtype)) {
    return std::nullopt;
  }
  auto indexed = along_dim ? IndexedDim(*self, call.Argument(1), call.InputTensor(2))
                           : IndexedBy(*self, call.Argument(1));
  if (!indexed) {
    return std::nullopt;
  }
  auto expanded = Expanded(*values, indexed->rows_shape);
  if (!expanded) {
    return std::nullopt;
  }
  const bool add = IsAdd(call) || (!along_dim && TruthOr(call.Argument(3), false));
  return Put{self,
             target,
             std::move(*expanded),
             std::move(*indexed),
             add ? IndexWrite::kAdd : IndexWrite::kSet,
             IsAdd(call) ? NumberOr(call.Argument(4), 1) : 1};
}

template <typename T>
T Combined(T old, T value, IndexWrite mode) {
  return mode == IndexWrite::kAdd ? old + value : value;
}

Status ReferenceScatter(const Scatter& s, const HostBindings& memory) {
  REPRISE_ASSIGN(const Integers index, ReadIntegers(s.index, memory));
  return InKindOf(s.self->dtype, [&](auto* read, auto* write) -> Status {
    REPRISE_ASSIGN(auto table, read(*s.self, memory));
    using Table = decltype(table);
    Table source(index.size(), static_cast<typename Table::value_type>(s.value));
    if (s.source != nullptr) {
      REPRISE_ASSIGN(source, read(*s.source, memory));
    }
    for (std::size_t k = 0; k < index.size(); ++k) {
      const std::int64_t at = s.at.Target(static_cast<std::int64_t>(k), index[k]);
      auto& place = table[static_cast<std::size_t>(at)];
      place = Combined(place, source[k], s.mode);
    }
    return write(*s.target, memory, table);
  });
}

Status ReferencePut(const Put& put, const HostBindings& memory) {
  REPRISE_ASSIGN(const Integers positions, put.indexed.Positions(memory));
  return InKindOf(put.self->dtype, [&](auto* read, auto* write) -> Status {
    REPRISE_ASSIGN(auto table, read(*put.self, memory));
    REPRISE_ASSIGN(const auto values, read(put.values, memory));
    const auto alpha = static_cast<typename decltype(table)::value_type>(put.alpha);
    put.indexed.ForEachRow(positions, [&](std::int64_t row, std::int64_t to) {
      for (std::int64_t i = 0; i < put.indexed.width; ++i) {
        auto& place = table[static_cast<std::size_t>(to + i)];
        place = Combined(place, values[static_cast<std::size_t>(row + i)] * alpha, put.mode);
      }
    });
    return write(*put.target, memory, table);
  });
}

// Dense tables are written in place; operators that leave self alone write to a copy of it.
bool CanWriteInPlace(const TensorDesc& self, const TensorDesc& target) {
  return IsContiguous(self) && IsContiguous(target) && Count(self) > 0;
}
Status CopySelf(const TensorDesc& self, const TensorDesc& target, const HostBindings& memory) {
  if (self.incarnation == target.incarnation) {
    return {};
  }
  REPRISE_ASSIGN(const HostTensor from, HostTensor::Bind(self, memory));
  REPRISE_ASSIGN(const HostTensor to, HostTensor::Bind(target, memory));
  ParallelCopy(to.first(), from.first(), Count(self) * SizeOf(self.dtype));
  return {};
}

Status RunScatterOnHost(const Scatter& s, const HostBindings& memory) {
  if (!CanWriteInPlace(*s.self, *s.target) || s.self->dtype != DType::kFloat32 ||
      (s.source != nullptr && !IsContiguous(*s.source))) {
    return ReferenceScatter(s, memory);
  }
  REPRISE_TRY(CopySelf(*s.self, *s.target, memory));
  REPRISE_ASSIGN(const Integers indices, ReadIntegers(s.index, memory));
  REPRISE_ASSIGN(const HostTensor to, HostTensor::Bind(*s.target, memory));
  const float* from = nullptr;
  if (s.source != nullptr) {
    REPRISE_ASSIGN(const HostTensor bound, HostTensor::Bind(*s.source, memory));
    from = bound.As<float>();
  }
  auto* target = to.As<float>();
  const auto same = static_cast<float>(s.value);
  const bool add = s.mode == IndexWrite::kAdd;
  ForEachTarget(s.at, indices, 20, [&](std::int64_t k, std::int64_t place) {
    const float term = from != nullptr ? from[k] : same;
    target[place] = add ? target[place] + term : term;
  });
  return {};
}

Status RunPutOnHost(const Put& put, const HostBindings& memory) {
  const bool plain =
      put.mode == IndexWrite::kSet ? put.alpha == 1 : put.self->dtype == DType::kFloat32;
  if (!CanWriteInPlace(*put.self, *put.target) || !plain || !IsContiguous(put.values)) {
    return ReferencePut(put, memory);
  }
  REPRISE_TRY(CopySelf(*put.self, *put.target, memory));
  const Indexed& indexed = put.indexed;
  REPRISE_ASSIGN(const Integers positions, indexed.Positions(memory));
  REPRISE_ASSIGN(const HostTensor from, HostTensor::Bind(put.values, memory));
  REPRISE_ASSIGN(const HostTensor to, HostTensor::Bind(*put.target, memory));
  const std::int64_t bytes = indexed.width * SizeOf(put.self->dtype);
  const std::byte* source = from.first();
  std::byte* target = to.first();
  const auto factor = static_cast<float>(put.alpha);
  const auto write = [&](std::int64_t row, std::int64_t at) {
    if (put.mode == IndexWrite::kSet) {
      std::memcpy(target + at * bytes, source + row * bytes, static_cast<std::size_t>(bytes));
      return;
    }
    const float* x = reinterpret_cast<const float*>(source + row * bytes);
    float* y = reinterpret_cast<float*>(target + at * bytes);
    for (std::int64_t i = 0; i < indexed.width; ++i) {
      y[i] += factor * x[i];
    }
  };
  // Each part has rows of the table to itself and looks for what is written to them.
  const double each =
      3.0 * static_cast<double>(bytes * indexed.count) / static_cast<double>(indexed.table_rows);
  ParallelFor(indexed.batch * indexed.table_rows, GrainSize(each),
              [&](std::int64_t begin, std::int64_t end) {
                const std::int64_t last = (end - 1) / indexed.table_rows;
                for (std::int64_t b = begin / indexed.table_rows; b <= last; ++b) {
                  for (std::int64_t j = 0; j < indexed.count; ++j) {
                    const std::int64_t at =
                        b * indexed.table_rows + positions[static_cast<std::size_t>(j)];
                    if (at >= begin && at < end) {
                      write(b * indexed.count + j, at);
                    }
                  }
                }
              });
  return {};
}

void LowerScatter(const Scatter& s, RowLowering& rows) {
  if (s.target != s.self) {
    rows.Copy(*s.self, *s.target);
  }
  rows.UseTypes({{"X", s.self->dtype}, {"I", s.index.dtype}}, AccumulatorOf(s.self->dtype));
  const DenseOperand self = rows.Update(*s.target);
  rows.LaunchItems("scatter", s.at.outer * s.at.inner, self, rows.Read(s.index),
                   rows.ReadOr(s.source, self), s.source != nullptr, static_cast<float>(s.value),
                   s.at.outer, s.at.extent, s.at.count, s.at.inner,
                   static_cast<std::int32_t>(s.mode));
}

void LowerPut(const Put& put, RowLowering& rows) {
  if (put.target != put.self) {
    rows.Copy(*put.self, *put.target);
  }
  IndexRows job = put.indexed.Job(rows);
  job.table = rows.Update(*put.target);
  job.rows = rows.Read(put.values);
  job.alpha = put.alpha;
  AppendWriteRows(rows, job, put.self->dtype, put.mode);
}

// On a tensor (6, 9) of these strides.
void AddSamples(std::vector<OpCall>& calls, const Dims& strides) {
  using samples::Bool, samples::Int;
  for (const DType dtype : {DType::kFloat32, DType::kInt64}) {
    samples::SampleTensors t;
    const TensorDesc self = t.Strided(dtype, {6, 9}, strides);
    const TensorDesc index = t.Tensor(DType::kInt64, {14});
    const TensorDesc values = t.Tensor(dtype, {14, 9});
    const TensorDesc one = t.Tensor(dtype, {});
    for (const bool accumulate : {false, true}) {
      calls.push_back({"aten::_index_put_impl_",
                       {{self}, samples::Tensors({index}), {values}, Bool(accumulate), Bool(true)},
                       {{self}}});
      calls.push_back({"aten::index_put_",
                       {{self}, samples::Tensors({index}), {one}, Bool(accumulate)},
                       {{self}}});
    }
    calls.push_back({"aten::index_add_", {{self}, Int(0), {index}, {values}, Int(2)}, {{self}}});
    const TensorDesc places = t.Tensor(DType::kInt64, {6, 2});
    const TensorDesc source = t.Tensor(dtype, {6, 2});
    calls.push_back({"aten::scatter_", {{self}, Int(-1), {places}, {source}}, {{self}}});
    calls.push_back({"aten::scatter_", {{self}, Int(1), {places}, Int(3)}, {{self}}});
    calls.push_back({"aten::scatter_add_", {{self}, Int(1), {places}, {source}}, {{self}}});
    calls.push_back({"aten::index_copy_", {{self}, Int(-2), {index}, {values}}, {{self}}});
    calls.push_back({"aten::index_fill_", {{self}, Int(0), {index}, Int(3)}, {{self}}});
    calls.push_back({"aten::index_fill_", {{self}, Int(1), {index}, {one}}, {{self}}});
    const TensorDesc out = t.Tensor(dtype, {6, 9});
    for (const char* name : {"aten::index_put", "aten::_unsafe_index_put"}) {
      calls.push_back({name, {{self}, samples::Tensors({index}), {values}, Bool(true)}, {{out}}});
    }
    calls.push_back({"aten::index_add", {{self}, Int(0), {index}, {values}, Int(1)}, {{out}}});
    calls.push_back({"aten::index_copy", {{self}, Int(0), {index}, {values}}, {{out}}});
    calls.push_back({"aten::index_fill", {{self}, Int(-1), {index}, Int(-1)}, {{out}}});
    calls.push_back({"aten::scatter", {{self}, Int(1), {places}, {source}}, {{out}}});
    calls.push_back({"aten::scatter", {{self}, Int(1), {places}, Int(2)}, {{out}}});
    calls.push_back({"aten::scatter_add", {{self}, Int(1), {places}, {source}}, {{out}}});
  }
}

std::vector<OpCall> IndexWriteSamples() {
  std::vector<OpCall> calls;
  AddSamples(calls, {1, 6});
  AddSamples(calls, {9, 1});
  return calls;
}

}  // namespace

std::unique_ptr<Kernel> MakeIndexWrite() {
  return MakeParsedKernel(
      {"index_write", "index_write.cl", IndexWriteSamples},
      CallForm<Scatter>{ParseScatter, ReferenceScatter, LowerScatter, RunScatterOnHost},
      CallForm<Put>{ParsePut, ReferencePut, LowerPut, RunPutOnHost});
}

}  // namespace reprise
