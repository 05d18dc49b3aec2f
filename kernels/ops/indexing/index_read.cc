// Reading by index tensors: kernels/ops/indexing/index_read.cl.
#include "kernels/ops/indexing/index_read.h"

#include <cstring>
#include <optional>
#include <type_traits>

#include "kernels/ops/common/parsed_kernel.h"
#include "kernels/samples.h"

namespace reprise {
namespace {

// gather(self, dim, index): index has self's shape but along dim.
struct Gather {
  const TensorDesc* self;
  const TensorDesc* index;
  const TensorDesc* out;
  Around at;
};

std::optional<Gather> ParseGather(const OpCall& call) {
  const Gather g{call.InputTensor(0), call.InputTensor(2), call.OutputTensor(0), {}};
  if (call.name != "aten::gather" || g.self == nullptr || g.index == nullptr || g.out == nullptr ||
      g.out->shape != g.index->shape || g.out->dtype != g.self->dtype) {
    return std::nullopt;
  }
  const auto at = AlongDim(*g.self, *g.index, call.Argument(1));
  return at ? std::optional(Gather{g.self, g.index, g.out, *at}) : std::nullopt;
}

// index(self, indices), index_select(self, dim, index), take(self, index).
std::optional<IndexReadCall> ParseIndexRead(const OpCall& call) {
  const TensorDesc* self = call.InputTensor(0);
  const TensorDesc* out = call.OutputTensor(0);
  if (call.name == "aten::gather" || self == nullptr || out == nullptr ||
      self->dtype != out->dtype) {
    return std::nullopt;
  }
  if (call.name == "aten::take") {
    const TensorDesc* index = call.InputTensor(1);
    const bool fits = index != nullptr && IsIndexType(index->dtype) && Count(*self) > 0 &&
                      out->shape == index->shape;
    return fits ? std::optional(IndexReadCall{self, out, IndexedRows(*index, Count(*self), 1)})
                : std::nullopt;
  }
  auto indexed = call.name == "aten::index_select"
                     ? IndexedDim(*self, call.Argument(1), call.InputTensor(2))
                     : IndexedBy(*self, call.Argument(1));
  if (!indexed || Count(*out) != ElementCount(indexed->rows_shape)) {
    return std::nullopt;
  }
  return IndexReadCall{self, out, std::move(*indexed)};
}

bool CanReadInPlace(const TensorDesc& self, const TensorDesc& out) {
  return IsContiguous(self) && IsContiguous(out) && Count(out) > 0;
}

Status ReferenceGather(const Gather& g, const HostBindings& memory) {
  REPRISE_ASSIGN(const Bits self, ReadBits(*g.self, memory));
  REPRISE_ASSIGN(const Integers index, ReadIntegers(*g.index, memory));
  Bits values(index.size());
  for (std::size_t k = 0; k < values.size(); ++k) {
    values[k] = self[static_cast<std::size_t>(g.at.Target(static_cast<std::int64_t>(k), index[k]))];
  }
  return WriteBits(*g.out, memory, values);
}

// body(T*) for an unsigned T of the dtype's size.
template <typename Body>
void AsBits(DType dtype, Body&& body) {
  switch (SizeOf(dtype)) {
    case 1:
      return body(static_cast<std::uint8_t*>(nullptr));
    case 2:
      return body(static_cast<std::uint16_t*>(nullptr));
    case 4:
      return body(static_cast<std::uint32_t*>(nullptr));
    default:
      return body(static_cast<std::uint64_t*>(nullptr));
  }
}

Status RunGatherOnHost(const Gather& g, const HostBindings& memory) {
  if (!CanReadInPlace(*g.self, *g.out)) {
    return ReferenceGather(g, memory);
  }
  REPRISE_ASSIGN(const Integers indices, ReadIntegers(*g.index, memory));
  REPRISE_ASSIGN(const HostTensor from, HostTensor::Bind(*g.self, memory));
  REPRISE_ASSIGN(const HostTensor to, HostTensor::Bind(*g.out, memory));
  AsBits(g.self->dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    const T* source = from.As<T>();
    T* target = to.As<T>();
    ForEachTarget(g.at, indices, 8 + 2 * sizeof(T),
                  [&](std::int64_t k, std::int64_t place) { target[k] = source[place]; });
  });
  return {};
}

void LowerGather(const Gather& g, RowLowering& rows) {
  rows.UseBits(g.self->dtype, g.index->dtype);
  rows.LaunchItems("gather", Count(*g.out), rows.Read(*g.self), rows.Read(*g.index),
                   rows.Write(*g.out), g.at.outer, g.at.extent, g.at.count, g.at.inner);
}

std::vector<OpCall> IndexReadSamples() {
  using samples::Int, samples::None;
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

}  // namespace

Status ReferenceIndexRead(const IndexReadCall& r, const HostBindings& memory) {
  REPRISE_ASSIGN(const Bits self, ReadBits(*r.table, memory));
  REPRISE_ASSIGN(const Integers positions, r.indexed.Positions(memory));
  Bits values(static_cast<std::size_t>(Count(*r.out)));
  r.indexed.ForEachRow(positions, [&](std::int64_t row, std::int64_t table) {
    std::copy_n(self.begin() + table, r.indexed.width, values.begin() + row);
  });
  return WriteBits(*r.out, memory, values);
}

Status RunIndexReadOnHost(const IndexReadCall& r, const HostBindings& memory) {
  if (!CanReadInPlace(*r.table, *r.out)) {
    return ReferenceIndexRead(r, memory);
  }
  const Indexed& indexed = r.indexed;
  REPRISE_ASSIGN(const Integers positions, indexed.Positions(memory));
  REPRISE_ASSIGN(const HostTensor from, HostTensor::Bind(*r.table, memory));
  REPRISE_ASSIGN(const HostTensor to, HostTensor::Bind(*r.out, memory));
  const std::int64_t bytes = indexed.width * SizeOf(r.table->dtype);
  const std::byte* source = from.first();
  std::byte* target = to.first();
  ParallelFor(indexed.batch * indexed.count, GrainSize(2.0 * static_cast<double>(bytes)),
              [&](std::int64_t begin, std::int64_t end) {
                for (std::int64_t row = begin; row < end; ++row) {
                  const auto j = static_cast<std::size_t>(row % indexed.count);
                  const std::int64_t at = row / indexed.count * indexed.table_rows + positions[j];
                  std::memcpy(target + row * bytes, source + at * bytes,
                              static_cast<std::size_t>(bytes));
                }
              });
  return {};
}

void LowerIndexRead(const IndexReadCall& r, RowLowering& rows) {
  IndexRows job = r.indexed.Job(rows);
  job.table = rows.Read(*r.table);
  job.rows = rows.Write(*r.out);
  AppendReadRows(rows, job, r.table->dtype);
}

std::unique_ptr<Kernel> MakeIndexRead() {
  return MakeParsedKernel(
      {"index_read", "index_read.cl", IndexReadSamples},
      CallForm<Gather>{ParseGather, ReferenceGather, LowerGather, RunGatherOnHost},
      CallForm<IndexReadCall>{ParseIndexRead, ReferenceIndexRead, LowerIndexRead,
                              RunIndexReadOnHost});
}

}  // namespace reprise
