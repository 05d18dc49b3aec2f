// Selecting by mask: kernels/ops/indexing/masked.cl finds the rows, index_read.cl and
// index_write.cl move them.
#include <algorithm>

#include "kernels/ops/common/parsed_kernel.h"
#include "kernels/ops/elementwise/elementwise_call.h"
#include "kernels/ops/indexing/index_rows.h"
#include "kernels/ops/indexing/masked_call.h"
#include "kernels/samples.h"

namespace reprise {
namespace {

using Kind = MaskedCall::Kind;

// Pieces of a mask, and elements that make one worth a work-item.
constexpr std::int64_t kMaxChunks = 1024;
constexpr std::int64_t kChunk = 1024;

// Exactly `count` positions, zeros where the mask has too few.
Integers Positions(const MaskedCall& m, const Doubles& mask) {
  Integers positions;
  for (std::size_t i = 0; i < mask.size(); ++i) {
    if (mask[i] != 0) {
      positions.push_back(static_cast<std::int64_t>(i));
    }
  }
  positions.resize(static_cast<std::size_t>(m.count), 0);
  return positions;
}

ElementwiseCall FillStep(const MaskedCall& m) {
  ElementwiseCall step{.op = FindElementwiseOp("masked_fill"), .result = &m.table};
  step.operands[0] = ElementwiseCall::Tensor(m.table);
  step.operands[1] = ElementwiseCall::Tensor(m.mask);
  step.operands[2] = ElementwiseCall::Tensor(m.rows);
  return step;
}

std::optional<MaskedCall> ParseRunnable(const OpCall& call) {
  auto m = ParseMasked(call);
  return m && (m->kind != Kind::kFill || CanRun(FillStep(*m))) ? m : std::nullopt;
}

// The positions of a mask's elements in the table, on the device.
DenseOperand FindTrue(RowLowering& rows, const MaskedCall& m, DenseOperand* counts) {
  const std::int64_t chunks = std::clamp<std::int64_t>(m.n / kChunk, 1, kMaxChunks);
  rows.UseProgram("masked.cl");
  rows.UseBits(m.kind == Kind::kPositions ? DType::kInt64 : m.table.dtype, m.mask.dtype);
  const DenseOperand mask = rows.Read(m.mask);
  *counts = rows.Scratch(chunks * SizeOf(DType::kInt64));
  rows.LaunchItems("count_true", chunks, mask, *counts, m.n, chunks);
  if (m.kind == Kind::kScatter) {
    const DenseOperand table = rows.Update(m.table);
    rows.LaunchItems("put_where_true", chunks, mask, *counts, rows.Read(m.rows), table, m.n, chunks,
                     m.count);
    return table;
  }
  DenseOperand out;
  std::array<std::int64_t, 4> extents = {};
  std::int32_t dims = 0;
  if (m.kind == Kind::kPositions) {
    out = rows.Write(m.rows);
    std::copy(m.mask.shape.begin(), m.mask.shape.end(), extents.begin());
    dims = static_cast<std::int32_t>(m.mask.shape.size());
  } else {
    out = rows.Scratch(m.count * SizeOf(DType::kInt64));
  }
  rows.LaunchItems("find_true", chunks, mask, *counts, out, m.n, chunks, m.count, dims, extents[0],
                   extents[1], extents[2], extents[3]);
  return out;
}

template <typename T>
void Write(const MaskedCall& m, const Integers& positions, const std::vector<T>& values,
           std::vector<T>& table) {
  for (std::size_t k = 0; k < positions.size(); ++k) {
    for (std::int64_t i = 0; i < m.width; ++i) {
      T& place = table[static_cast<std::size_t>(positions[k] * m.width + i)];
      const T value = values[k * static_cast<std::size_t>(m.width) + static_cast<std::size_t>(i)];
      place = m.accumulate ? place + value : value;
    }
  }
}

Status WriteCoordinates(const MaskedCall& m, const Integers& positions,
                        const HostBindings& memory) {
  const std::size_t dims = m.mask.shape.size();
  Integers coordinates(positions.size() * dims);
  for (std::size_t k = 0; k < positions.size(); ++k) {
    std::int64_t rest = positions[k];
    for (std::size_t d = dims; d-- > 0;) {
      coordinates[k * dims + d] = rest % m.mask.shape[d];
      rest /= m.mask.shape[d];
    }
  }
  return WriteIntegers(m.rows, memory, coordinates);
}

Status ReadRows(const MaskedCall& m, const Integers& positions, const HostBindings& memory) {
  REPRISE_ASSIGN(const Bits table, ReadBits(m.table, memory));
  Bits rows;
  for (std::int64_t b = 0; b < m.batch; ++b) {
    for (const std::int64_t position : positions) {
      const auto at = table.begin() + (b * m.n + position) * m.width;
      rows.insert(rows.end(), at, at + m.width);
    }
  }
  return WriteBits(m.rows, memory, rows);
}

Status WriteRows(const MaskedCall& m, const Integers& positions, const HostBindings& memory) {
  return InKindOf(m.table.dtype, [&](auto* read, auto* write) -> Status {
    REPRISE_ASSIGN(auto table, read(m.table, memory));
    REPRISE_ASSIGN(const auto values, read(m.rows, memory));
    Write(m, positions, values, table);
    return write(m.table, memory, table);
  });
}

Status Scatter(const MaskedCall& m, const Doubles& mask, const HostBindings& memory) {
  REPRISE_ASSIGN(Bits table, ReadBits(m.table, memory));
  REPRISE_ASSIGN(const Bits values, ReadBits(m.rows, memory));
  std::size_t k = 0;
  for (std::size_t i = 0; i < mask.size(); ++i) {
    if (mask[i] != 0) {
      table[i] = values[std::min(k++, values.size() - 1)];
    }
  }
  return WriteBits(m.table, memory, table);
}

Status ReferenceMasked(const MaskedCall& m, const HostBindings& memory) {
  if (m.self != nullptr) {
    REPRISE_ASSIGN(const Bits self, ReadBits(*m.self, memory));
    REPRISE_TRY(WriteBits(m.table, memory, self));
  }
  if (m.kind == Kind::kFill) {
    return ReferenceElementwise(FillStep(m), memory);
  }
  REPRISE_ASSIGN(const Doubles mask, ReadDoubles(m.mask, memory));
  switch (m.kind) {
    case Kind::kPositions:
      return WriteCoordinates(m, Positions(m, mask), memory);
    case Kind::kRead:
      return ReadRows(m, Positions(m, mask), memory);
    case Kind::kScatter:
      return Scatter(m, mask, memory);
    default:
      return WriteRows(m, Positions(m, mask), memory);
  }
}

void LowerMasked(const MaskedCall& m, RowLowering& rows) {
  if (m.self != nullptr) {
    rows.Copy(*m.self, m.table);
  }
  if (m.kind == Kind::kFill) {
    return LowerElementwise(FillStep(m), rows);
  }
  DenseOperand counts;
  const DenseOperand positions = FindTrue(rows, m, &counts);
  if (m.kind == Kind::kRead || m.kind == Kind::kWrite) {
    IndexRows job;
    job.index.fill(positions);
    job.batch = m.batch;
    job.table_rows = m.n;
    job.extents[0] = m.n;
    job.count = m.count;
    job.width = m.width;
    if (m.kind == Kind::kRead) {
      job.table = rows.Read(m.table);
      job.rows = rows.Write(m.rows);
      AppendReadRows(rows, job, m.table.dtype);
    } else {
      job.table = rows.Update(m.table);
      job.rows = rows.Read(m.rows);
      AppendWriteRows(rows, job, m.table.dtype, m.accumulate ? IndexWrite::kAdd : IndexWrite::kSet);
    }
  }
}

// Samples' masks are random: of n elements about half are true, so that counts above and below
// show what happens to the rest.
std::vector<OpCall> MaskedSamples() {
  using samples::Bool, samples::None;
  std::vector<OpCall> calls;
  for (const DType dtype : {DType::kFloat32, DType::kBFloat16, DType::kInt64, DType::kBool}) {
    samples::SampleTensors t;
    const TensorDesc self = t.Strided(dtype, {7, 5, 6}, {30, 1, 5});
    const TensorDesc out = t.Tensor(dtype, {7, 5, 6});
    const TensorDesc mask = t.Tensor(DType::kBool, {7, 5});
    const TensorDesc last = t.Strided(DType::kBool, {6}, {2});
    const TensorDesc all = t.Tensor(DType::kBool, {7, 5, 6});
    const TensorDesc one = t.Tensor(dtype, {});
    for (const std::int64_t count : {5, 30}) {
      const TensorDesc rows = t.Tensor(dtype, {count, 6});
      calls.push_back({"aten::index", {{self}, samples::Tensors({mask})}, {{rows}}});
      calls.push_back({"aten::nonzero", {{self}}, {{t.Tensor(DType::kInt64, {count, 3})}}});
      calls.push_back({"aten::masked_select", {{self}, {last}}, {{t.Tensor(dtype, {4 * count})}}});
      calls.push_back({"aten::index_put_",
                       {{self}, samples::Tensors({mask}), {rows}, Bool(count == 30)},
                       {{self}}});
      calls.push_back(
          {"aten::index_put", {{self}, samples::Tensors({mask}), {rows}, Bool(false)}, {{out}}});
    }
    calls.push_back({"aten::_unsafe_index",
                     {{self}, {ValueList{None(), None(), {last}}}},
                     {{t.Tensor(dtype, {7, 5, 4})}}});
    calls.push_back({"aten::_index_put_impl_",
                     {{self}, {ValueList{None(), None(), {last}}}, {one}, Bool(false), Bool(false)},
                     {{self}}});
    calls.push_back({"aten::index_put_",
                     {{self}, samples::Tensors({mask}), {t.Tensor(dtype, {6})}, Bool(false)},
                     {{self}}});
    const TensorDesc columns = t.Strided(DType::kInt64, {9, 2}, {1, 9});
    calls.push_back({"aten::where",
                     {{mask}},
                     {samples::Tensors({samples::SampleTensors::Of(columns, {9}, {1}, 0),
                                        samples::SampleTensors::Of(columns, {9}, {1}, 9)})}});
    const TensorDesc values = t.Tensor(dtype, {80});
    calls.push_back({"aten::masked_scatter_", {{self}, {last}, {values}}, {{self}}});
    calls.push_back({"aten::masked_scatter", {{self}, {all}, {values}}, {{out}}});
  }
  return calls;
}

}  // namespace

std::unique_ptr<Kernel> MakeMasked() {
  return MakeParsedKernel({"masked", "masked.cl", MaskedSamples},
                          CallForm<MaskedCall>{ParseRunnable, ReferenceMasked, LowerMasked});
}

}  // namespace reprise
