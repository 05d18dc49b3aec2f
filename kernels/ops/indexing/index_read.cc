// Reading by index tensors: kernels/ops/indexing/index_read.cl.
#include <array>
#include <optional>

#include "kernels/ops/common/host_values.h"
#include "kernels/ops/indexing/index_host.h"
#include "kernels/ops/indexing/index_rows.h"
#include "kernels/ops/indexing/indexed.h"
#include "kernels/samples.h"

namespace reprise {
namespace {

bool IsGather(const OpCall& call) { return call.name == "aten::gather"; }

// gather(self, dim, index): index has self's shape but along dim.
struct Gather {
  const TensorDesc* self;
  const TensorDesc* index;
  const TensorDesc* out;
  Around at;
};

std::optional<Gather> ParseGather(const OpCall& call) {
  const Gather g{call.InputTensor(0), call.InputTensor(2), call.OutputTensor(0), {}};
  if (g.self == nullptr || g.index == nullptr || g.out == nullptr ||
      g.out->shape != g.index->shape || g.out->dtype != g.self->dtype) {
    return std::nullopt;
  }
  const auto at = AlongDim(*g.self, *g.index, Argument(call, 1));
  return at ? std::optional(Gather{g.self, g.index, g.out, *at}) : std::nullopt;
}

// take(self, index): of the elements in a row.
Indexed TakenFrom(const TensorDesc& self, const TensorDesc& index) {
  Indexed indexed;
  indexed.indices = {&index};
  indexed.table_rows = Count(self);
  indexed.extents = {indexed.table_rows};
  indexed.count = Count(index);
  indexed.rows_shape = index.shape;
  return indexed;
}

// index(self, indices), index_select(self, dim, index), take(self, index).
std::optional<Indexed> ParseRows(const OpCall& call) {
  const TensorDesc* self = call.InputTensor(0);
  const TensorDesc* out = call.OutputTensor(0);
  if (self == nullptr || out == nullptr || self->dtype != out->dtype) {
    return std::nullopt;
  }
  if (call.name == "aten::take") {
    const TensorDesc* index = call.InputTensor(1);
    const bool fits = index != nullptr && IsIndexType(index->dtype) && Count(*self) > 0 &&
                      out->shape == index->shape;
    return fits ? std::optional(TakenFrom(*self, *index)) : std::nullopt;
  }
  auto indexed = call.name == "aten::index_select"
                     ? IndexedDim(*self, Argument(call, 1), call.InputTensor(2))
                     : IndexedBy(*self, Argument(call, 1));
  if (!indexed || Count(*out) != ElementCount(indexed->rows_shape)) {
    return std::nullopt;
  }
  return indexed;
}

class IndexRead final : public Kernel {
 public:
  [[nodiscard]] std::string_view name() const override { return "index_read"; }
  [[nodiscard]] bool Supports(const OpCall& call) const override {
    return IsGather(call) ? ParseGather(call).has_value() : ParseRows(call).has_value();
  }
  [[nodiscard]] Status Reference(const OpCall& call, const HostBindings& memory) const override {
    const TensorDesc& out = *call.OutputTensor(0);
    REPRISE_ASSIGN(const Bits self, ReadBits(*call.InputTensor(0), memory));
    Bits values(static_cast<std::size_t>(Count(out)));
    if (IsGather(call)) {
      const Gather g = *ParseGather(call);
      REPRISE_ASSIGN(const Integers index, ReadIntegers(*g.index, memory));
      for (std::size_t k = 0; k < values.size(); ++k) {
        values[k] =
            self[static_cast<std::size_t>(g.at.Target(static_cast<std::int64_t>(k), index[k]))];
      }
      return WriteBits(out, memory, values);
    }
    const Indexed indexed = *ParseRows(call);
    REPRISE_ASSIGN(const Integers positions, indexed.Positions(memory));
    indexed.ForEachRow(positions, [&](std::int64_t row, std::int64_t table) {
      std::copy_n(self.begin() + table, indexed.width, values.begin() + row);
    });
    return WriteBits(out, memory, values);
  }
  [[nodiscard]] Status RunOnHost(const OpCall& call, const HostBindings& memory) const override {
    const TensorDesc& self = *call.InputTensor(0);
    const TensorDesc& out = *call.OutputTensor(0);
    if (!IsContiguous(self) || !IsContiguous(out) || Count(out) == 0) {
      return Reference(call, memory);
    }
    if (IsGather(call)) {
      const Gather g = *ParseGather(call);
      return GatherOnHost(g.at, self, *g.index, out, memory);
    }
    return ReadRowsOnHost(*ParseRows(call), self, out, memory);
  }
  [[nodiscard]] Result<std::vector<Launch>> LowerToDevice(
      const OpCall& call, const LowerContext& context) const override {
    RowLowering rows(context, "index_read.cl");
    if (IsGather(call)) {
      const Gather g = *ParseGather(call);
      rows.UseBits(g.self->dtype, g.index->dtype);
      REPRISE_ASSIGN(const DenseOperand self, rows.Read(*g.self));
      REPRISE_ASSIGN(const DenseOperand index, rows.Read(*g.index));
      REPRISE_ASSIGN(const DenseOperand out, rows.Write(*g.out));
      rows.LaunchItems("gather", Count(*g.out), self, index, out, g.at.outer, g.at.extent,
                       g.at.count, g.at.inner);
      return std::move(rows).Take();
    }
    const Indexed indexed = *ParseRows(call);
    REPRISE_ASSIGN(IndexRows job, indexed.Job(rows));
    REPRISE_ASSIGN(job.table, rows.Read(*call.InputTensor(0)));
    REPRISE_ASSIGN(job.rows, rows.Write(*call.OutputTensor(0)));
    AppendReadRows(rows, job, call.InputTensor(0)->dtype);
    return std::move(rows).Take();
  }
  [[nodiscard]] std::vector<OpCall> Samples() const override {
    using samples::Int;
    using samples::None;
    std::vector<OpCall> calls;
    for (const DType dtype : {DType::kFloat32, DType::kInt64, DType::kBool}) {
      samples::SampleTensors t;
      const DType index_type = dtype == DType::kBool ? DType::kInt32 : DType::kInt64;
      const TensorDesc self = t.Strided(dtype, {7, 5, 6}, {30, 1, 5});
      const TensorDesc i = t.Tensor(index_type, {4, 3});
      const TensorDesc j = t.Tensor(index_type, {4, 3});
      calls.push_back(
          {"aten::index", {{self}, samples::Tensors({i})}, {{t.Tensor(dtype, {4, 3, 5, 6})}}});
      calls.push_back(
          {"aten::index", {{self}, samples::Tensors({i, j})}, {{t.Tensor(dtype, {4, 3, 6})}}});
      calls.push_back(
          {"aten::index", {{self}, {ValueList{None(), {i}}}}, {{t.Tensor(dtype, {7, 4, 3, 6})}}});
      calls.push_back({"aten::_unsafe_index",
                       {{self}, {ValueList{None(), {i}}}},
                       {{t.Tensor(dtype, {7, 4, 3, 6})}}});
      calls.push_back({"aten::take", {{self}, {i}}, {{t.Tensor(dtype, {4, 3})}}});
      const TensorDesc flat = t.Tensor(index_type, {9});
      calls.push_back(
          {"aten::index_select", {{self}, Int(-1), {flat}}, {{t.Tensor(dtype, {7, 5, 9})}}});
      const TensorDesc dense = t.Tensor(dtype, {7, 5, 6});
      calls.push_back(
          {"aten::index", {{dense}, {ValueList{None(), {i}}}}, {{t.Tensor(dtype, {7, 4, 3, 6})}}});
      calls.push_back(
          {"aten::index_select", {{dense}, Int(1), {flat}}, {{t.Tensor(dtype, {7, 9, 6})}}});
      calls.push_back({"aten::gather",
                       {{dense}, Int(1), {t.Tensor(index_type, {7, 2, 6})}},
                       {{t.Tensor(dtype, {7, 2, 6})}}});
      const TensorDesc picks = t.Tensor(index_type, {7, 2, 6});
      calls.push_back({"aten::gather", {{self}, Int(1), {picks}}, {{t.Tensor(dtype, {7, 2, 6})}}});
    }
    return calls;
  }
};

}  // namespace

std::unique_ptr<Kernel> MakeIndexRead() { return std::make_unique<IndexRead>(); }

}  // namespace reprise
