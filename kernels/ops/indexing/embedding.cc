// Embedding lookups and their gradient: kernels/ops/indexing/index_read.cl, index_write.cl.
#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "kernels/cpu/parallel_for.h"
#include "kernels/ops/common/host_floats.h"
#include "kernels/ops/common/host_loops.h"
#include "kernels/ops/common/host_values.h"
#include "kernels/ops/indexing/index_rows.h"
#include "kernels/samples.h"

namespace reprise {
namespace {

struct EmbeddingCall {
  const TensorDesc* table = nullptr;  // weight (rows, width), or its gradient
  const TensorDesc* index = nullptr;
  const TensorDesc* rows = nullptr;  // result (index shape, width), or its gradient
  std::int64_t padding = -1;
};

bool IsBackward(const OpCall& call) { return call.name == "aten::embedding_dense_backward"; }

// embedding(weight, indices, padding_idx, scale_grad_by_freq, sparse)
// embedding_dense_backward(grad, indices, num_weights, padding_idx, scale_grad_by_freq)
std::optional<EmbeddingCall> ParseEmbedding(const OpCall& call) {
  EmbeddingCall p;
  const bool backward = IsBackward(call);
  p.index = call.InputTensor(1);
  p.table = backward ? call.OutputTensor(0) : call.InputTensor(0);
  p.rows = backward ? call.InputTensor(0) : call.OutputTensor(0);
  if (p.index == nullptr || p.table == nullptr || p.rows == nullptr || p.table->shape.size() != 2 ||
      p.table->dtype != p.rows->dtype || !IsIndexType(p.index->dtype) ||
      Count(*p.rows) != Count(*p.index) * p.table->shape[1] || p.table->shape[0] == 0) {
    return std::nullopt;
  }
  if (backward) {
    p.padding = Argument(call, 3).AsNumber<std::int64_t>(-1);
    if (!IsFloatKernelType(p.rows->dtype) || TruthOr(Argument(call, 4), false)) {
      return std::nullopt;  // scaling by frequency
    }
  }
  return p;
}

class Embedding final : public Kernel {
 public:
  [[nodiscard]] std::string_view name() const override { return "embedding"; }
  [[nodiscard]] bool Supports(const OpCall& call) const override {
    return ParseEmbedding(call).has_value();
  }
  [[nodiscard]] Status Reference(const OpCall& call, const HostBindings& memory) const override {
    const EmbeddingCall p = *ParseEmbedding(call);
    REPRISE_ASSIGN(const Integers index, ReadIntegers(*p.index, memory));
    const auto width = static_cast<std::size_t>(p.table->shape[1]);
    const auto row_of = [&](std::size_t j) {
      return static_cast<std::size_t>(InRange(index[j], p.table->shape[0]));
    };
    if (!IsBackward(call)) {
      REPRISE_ASSIGN(const Bits table, ReadBits(*p.table, memory));
      Bits rows;
      for (std::size_t j = 0; j < index.size(); ++j) {
        rows.insert(rows.end(), table.begin() + static_cast<std::ptrdiff_t>(row_of(j) * width),
                    table.begin() + static_cast<std::ptrdiff_t>((row_of(j) + 1) * width));
      }
      return WriteBits(*p.rows, memory, rows);
    }
    REPRISE_ASSIGN(const Doubles grad, ReadDoubles(*p.rows, memory));
    Doubles table(static_cast<std::size_t>(Count(*p.table)), 0);
    for (std::size_t j = 0; j < index.size(); ++j) {
      for (std::size_t i = 0; i < width; ++i) {
        if (static_cast<std::int64_t>(row_of(j)) != p.padding) {
          table[row_of(j) * width + i] += grad[j * width + i];
        }
      }
    }
    return WriteDoubles(*p.table, memory, table);
  }
  [[nodiscard]] Status RunOnHost(const OpCall& call, const HostBindings& memory) const override {
    const EmbeddingCall p = *ParseEmbedding(call);
    if (Count(*p.rows) == 0 || !IsContiguous(*p.table) || !IsContiguous(*p.rows) ||
        (IsBackward(call) && !AreFloats({p.table}))) {
      return Reference(call, memory);
    }
    REPRISE_ASSIGN(const Integers index, ReadIntegers(*p.index, memory));
    const std::int64_t width = p.table->shape[1];
    if (!IsBackward(call)) {
      REPRISE_ASSIGN(const HostTensor table, HostTensor::Bind(*p.table, memory));
      REPRISE_ASSIGN(const HostTensor rows, HostTensor::Bind(*p.rows, memory));
      const std::int64_t element = SizeOf(p.table->dtype);
      const std::int64_t row_bytes = width * element;
      const std::byte* from = table.data() + p.table->offset * element;
      std::byte* to = rows.data() + p.rows->offset * element;
      ParallelFor(std::ssize(index), GrainSize(2.0 * static_cast<double>(row_bytes)),
                  [&](std::int64_t begin, std::int64_t end) {
                    for (std::int64_t j = begin; j < end; ++j) {
                      const std::int64_t row =
                          InRange(index[static_cast<std::size_t>(j)], p.table->shape[0]);
                      std::memcpy(to + j * row_bytes, from + row * row_bytes,
                                  static_cast<std::size_t>(row_bytes));
                    }
                  });
      return {};
    }
    REPRISE_ASSIGN(const FloatsIn grad, FloatsIn::Read(*p.rows, memory));
    REPRISE_ASSIGN(FloatsOut table, FloatsOut::Write(*p.table, memory));
    // Each part of the table looks for its own rows, so that sums are taken in one order.
    ParallelFor(p.table->shape[0], GrainSize(sizeof(float) * static_cast<double>(width)),
                [&](std::int64_t begin, std::int64_t end) {
                  std::fill(table.data() + begin * width, table.data() + end * width, 0.0F);
                  for (std::size_t j = 0; j < index.size(); ++j) {
                    const std::int64_t row = InRange(index[j], p.table->shape[0]);
                    if (row >= begin && row < end && row != p.padding) {
                      loops::Accumulate(grad.data() + static_cast<std::int64_t>(j) * width,
                                        loops::Map::kValue, table.data() + row * width, width);
                    }
                  }
                });
    return table.Store(memory);
  }
  [[nodiscard]] Result<std::vector<Launch>> LowerToDevice(
      const OpCall& call, const LowerContext& context) const override {
    const EmbeddingCall p = *ParseEmbedding(call);
    RowLowering rows(context, "index_read.cl");
    IndexRows job;
    job.table_rows = p.table->shape[0];
    job.width = p.table->shape[1];
    job.count = Count(*p.index);
    REPRISE_ASSIGN(job.index[0], rows.Read(*p.index));
    job.extents[0] = job.table_rows;
    job.index_type = p.index->dtype;
    if (!IsBackward(call)) {
      REPRISE_ASSIGN(job.table, rows.Read(*p.table));
      REPRISE_ASSIGN(job.rows, rows.Write(*p.rows));
      AppendReadRows(rows, job, p.table->dtype);
      return std::move(rows).Take();
    }
    REPRISE_ASSIGN(job.rows, rows.Read(*p.rows));
    REPRISE_ASSIGN(job.table, rows.Write(*p.table));
    job.skip = p.padding;
    job.clear = true;
    REPRISE_TRY(AppendWriteRows(rows, job, p.table->dtype, IndexWrite::kAdd));
    return std::move(rows).Take();
  }
  [[nodiscard]] std::vector<OpCall> Samples() const override {
    using samples::Bool;
    using samples::Int;
    std::vector<OpCall> calls;
    for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
      samples::SampleTensors t;
      const DType index_type = dtype == DType::kFloat32 ? DType::kInt64 : DType::kInt32;
      const TensorDesc weight = t.Strided(dtype, {11, 19}, {24, 1}, 3);
      const TensorDesc index = t.Strided(index_type, {5, 7}, {1, 5});
      const TensorDesc out = t.Tensor(dtype, {5, 7, 19});
      const TensorDesc grad = t.Tensor(dtype, {11, 19});
      calls.push_back(
          {"aten::embedding", {{weight}, {index}, Int(-1), Bool(false), Bool(false)}, {{out}}});
      for (const std::int64_t padding : {-1, 4}) {
        calls.push_back({"aten::embedding_dense_backward",
                         {{out}, {index}, Int(11), Int(padding), Bool(false)},
                         {{grad}}});
      }
    }
    return calls;
  }
};

}  // namespace

std::unique_ptr<Kernel> MakeEmbedding() { return std::make_unique<Embedding>(); }

}  // namespace reprise
