// Writing by index tensors, in place or into a copy: kernels/ops/indexing/index_write.cl.
#include <array>
#include <optional>

#include "kernels/cpu/parallel_for.h"
#include "kernels/ops/common/host_values.h"
#include "kernels/ops/indexing/index_host.h"
#include "kernels/ops/indexing/index_rows.h"
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

// What is written to: self in place, else a copy of it that the launches begin with.
const TensorDesc* TargetOf(const OpCall& call) {
  const TensorDesc* self = call.InputTensor(0);
  const TensorDesc* target = call.name.ends_with('_') ? self : call.OutputTensor(0);
  const bool fits = self != nullptr && target != nullptr && target->shape == self->shape &&
                    target->dtype == self->dtype && IsKernelType(self->dtype);
  return fits ? target : nullptr;
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
  Scatter s{.self = call.InputTensor(0), .target = TargetOf(call), .source = call.InputTensor(3)};
  const TensorDesc* index = call.InputTensor(2);
  if (s.target == nullptr || index == nullptr || call.inputs.size() > 4 ||
      (s.source == nullptr && !IsNumber(Argument(call, 3)))) {
    return std::nullopt;
  }
  const auto spread = IsFill(call) ? Spread(*index, *s.self, Argument(call, 1)) : *index;
  if (!spread || (s.source != nullptr &&
                  (s.source->dtype != s.self->dtype || s.source->shape != spread->shape))) {
    return std::nullopt;
  }
  s.index = *spread;
  s.value = NumberOr(Argument(call, 3), 0);
  s.mode = call.name.starts_with("aten::scatter_add") ? IndexWrite::kAdd : IndexWrite::kSet;
  const auto at = AlongDim(*s.self, s.index, Argument(call, 1));
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
  const TensorDesc* target = TargetOf(call);
  const TensorDesc* values = call.InputTensor(along_dim ? 3 : 2);
  if (target == nullptr || values == nullptr || values->dtype != self->dtype) {
    return std::nullopt;
  }
  auto indexed = along_dim ? IndexedDim(*self, Argument(call, 1), call.InputTensor(2))
                           : IndexedBy(*self, Argument(call, 1));
  if (!indexed) {
    return std::nullopt;
  }
  auto expanded = Expanded(*values, indexed->rows_shape);
  if (!expanded) {
    return std::nullopt;
  }
  const bool add = IsAdd(call) || (!along_dim && TruthOr(Argument(call, 3), false));
  return Put{self,
             target,
             std::move(*expanded),
             std::move(*indexed),
             add ? IndexWrite::kAdd : IndexWrite::kSet,
             IsAdd(call) ? NumberOr(Argument(call, 4), 1) : 1};
}

template <typename T>
T Combined(T old, T value, IndexWrite mode) {
  return mode == IndexWrite::kAdd ? old + value : value;
}

class IndexWriteKernel final : public Kernel {
 public:
  [[nodiscard]] std::string_view name() const override { return "index_write"; }
  [[nodiscard]] bool Supports(const OpCall& call) const override {
    return IsScatter(call) ? ParseScatter(call).has_value() : ParsePut(call).has_value();
  }
  [[nodiscard]] Status Reference(const OpCall& call, const HostBindings& memory) const override {
    const TensorDesc& self = *call.InputTensor(0);
    const TensorDesc& target = *TargetOf(call);
    if (IsFloating(self.dtype)) {
      REPRISE_ASSIGN(Doubles table, ReadDoubles(self, memory));
      REPRISE_TRY(Apply(call, memory, table, ReadDoubles));
      return WriteDoubles(target, memory, table);
    }
    REPRISE_ASSIGN(Integers table, ReadIntegers(self, memory));
    REPRISE_TRY(Apply(call, memory, table, ReadIntegers));
    return WriteIntegers(target, memory, table);
  }
  [[nodiscard]] Status RunOnHost(const OpCall& call, const HostBindings& memory) const override {
    const TensorDesc& self = *call.InputTensor(0);
    const TensorDesc& target = *TargetOf(call);
    if (!IsContiguous(self) || !IsContiguous(target) || Count(self) == 0) {
      return Reference(call, memory);
    }
    if (IsScatter(call)) {
      const Scatter s = *ParseScatter(call);
      if (self.dtype != DType::kFloat32 || (s.source != nullptr && !IsContiguous(*s.source))) {
        return Reference(call, memory);
      }
      REPRISE_TRY(CopySelf(call, self, target, memory));
      return ScatterOnHost(s.at, s.mode, s.index, s.source, s.value, target, memory);
    }
    const Put put = *ParsePut(call);
    const bool plain =
        put.mode == IndexWrite::kSet ? put.alpha == 1 : self.dtype == DType::kFloat32;
    if (!plain || !IsContiguous(put.values)) {
      return Reference(call, memory);
    }
    REPRISE_TRY(CopySelf(call, self, target, memory));
    return WriteRowsOnHost(put.indexed, put.mode, put.alpha, put.values, target, memory);
  }
  [[nodiscard]] Result<std::vector<Launch>> LowerToDevice(
      const OpCall& call, const LowerContext& context) const override {
    RowLowering rows(context, "index_write.cl");
    if (!call.name.ends_with('_')) {
      REPRISE_TRY(rows.Copy(*call.InputTensor(0), *TargetOf(call)));
    }
    if (IsScatter(call)) {
      const Scatter s = *ParseScatter(call);
      REPRISE_TRY(rows.UseTypes({{"X", s.self->dtype}, {"I", s.index.dtype}},
                                AccumulatorOf(s.self->dtype)));
      REPRISE_ASSIGN(const DenseOperand self, rows.Update(*s.target));
      REPRISE_ASSIGN(const DenseOperand index, rows.Read(s.index));
      REPRISE_ASSIGN(const DenseOperand source, rows.ReadOr(s.source, self));
      rows.LaunchItems("scatter", s.at.outer * s.at.inner, self, index, source, s.source != nullptr,
                       static_cast<float>(s.value), s.at.outer, s.at.extent, s.at.count, s.at.inner,
                       static_cast<std::int32_t>(s.mode));
      return std::move(rows).Take();
    }
    const Put put = *ParsePut(call);
    REPRISE_ASSIGN(IndexRows job, put.indexed.Job(rows));
    REPRISE_ASSIGN(job.table, rows.Update(*put.target));
    REPRISE_ASSIGN(job.rows, rows.Read(put.values));
    job.alpha = put.alpha;
    REPRISE_TRY(AppendWriteRows(rows, job, put.self->dtype, put.mode));
    return std::move(rows).Take();
  }
  [[nodiscard]] std::vector<OpCall> Samples() const override {
    std::vector<OpCall> calls;
    AddSamples(calls, {1, 6});
    AddSamples(calls, {9, 1});
    return calls;
  }

 private:
  // On a tensor (6, 9) of these strides.
  static void AddSamples(std::vector<OpCall>& calls, const Dims& strides) {
    using samples::Bool;
    using samples::Int;
    for (const DType dtype : {DType::kFloat32, DType::kInt64}) {
      samples::SampleTensors t;
      const TensorDesc self = t.Strided(dtype, {6, 9}, strides);
      const TensorDesc index = t.Tensor(DType::kInt64, {14});
      const TensorDesc values = t.Tensor(dtype, {14, 9});
      const TensorDesc one = t.Tensor(dtype, {});
      for (const bool accumulate : {false, true}) {
        calls.push_back(
            {"aten::_index_put_impl_",
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
  // Operators that leave self alone write to a copy of it.
  static Status CopySelf(const OpCall& call, const TensorDesc& self, const TensorDesc& target,
                         const HostBindings& memory) {
    if (call.name.ends_with('_') || self.incarnation == target.incarnation) {
      return {};
    }
    REPRISE_ASSIGN(const HostTensor from, HostTensor::Bind(self, memory));
    REPRISE_ASSIGN(const HostTensor to, HostTensor::Bind(target, memory));
    const std::int64_t size = SizeOf(self.dtype);
    ParallelCopy(to.data() + target.offset * size, from.data() + self.offset * size,
                 Count(self) * size);
    return {};
  }
  template <typename T, typename Read>
  static Status Apply(const OpCall& call, const HostBindings& memory, std::vector<T>& table,
                      Read read) {
    if (IsScatter(call)) {
      const Scatter s = *ParseScatter(call);
      REPRISE_ASSIGN(const Integers index, ReadIntegers(s.index, memory));
      std::vector<T> source(index.size(), static_cast<T>(s.value));
      if (s.source != nullptr) {
        REPRISE_ASSIGN(source, read(*s.source, memory));
      }
      for (std::size_t k = 0; k < index.size(); ++k) {
        T& place =
            table[static_cast<std::size_t>(s.at.Target(static_cast<std::int64_t>(k), index[k]))];
        place = Combined(place, source[k], s.mode);
      }
      return {};
    }
    const Put put = *ParsePut(call);
    REPRISE_ASSIGN(const std::vector<T> values, read(put.values, memory));
    REPRISE_ASSIGN(const Integers positions, put.indexed.Positions(memory));
    put.indexed.ForEachRow(positions, [&](std::int64_t row, std::int64_t to) {
      for (std::int64_t i = 0; i < put.indexed.width; ++i) {
        T& place = table[static_cast<std::size_t>(to + i)];
        const T value =
            static_cast<T>(values[static_cast<std::size_t>(row + i)] * static_cast<T>(put.alpha));
        place = Combined(place, value, put.mode);
      }
    });
    return {};
  }
};

}  // namespace

std::unique_ptr<Kernel> MakeIndexWrite() { return std::make_unique<IndexWriteKernel>(); }

}  // namespace reprise
