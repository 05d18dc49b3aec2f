// Embedding lookups and their gradient: kernels/ops/indexing/index_read.cl, index_write.cl.
#include <algorithm>
#include <optional>

#include "kernels/cpu/parallel_for.h"
#include "kernels/ops/common/host_floats.h"
#include "kernels/ops/common/host_loops.h"
#include "kernels/ops/common/host_values.h"
#include "kernels/ops/common/parsed_kernel.h"
#include "kernels/ops/indexing/index_read.h"
#include "kernels/samples.h"

namespace reprise {
namespace {

struct EmbeddingGrad {
  const TensorDesc* grad = nullptr;  // (index shape, width)
  const TensorDesc* index = nullptr;
  const TensorDesc* table = nullptr;  // (rows, width), written
  std::int64_t padding = -1;

  [[nodiscard]] std::int64_t rows() const { return table->shape[0]; }
  [[nodiscard]] std::int64_t width() const { return table->shape[1]; }
};

// Whether the shapes and dtypes fit: a row of the table in `rows` for each element of the index.
bool Fit(const TensorDesc* table, const TensorDesc* index, const TensorDesc* rows) {
  return index != nullptr && table != nullptr && rows != nullptr && table->shape.size() == 2 &&
         table->dtype == rows->dtype && IsIndexType(index->dtype) &&
         Count(*rows) == Count(*index) * table->shape[1] && table->shape[0] > 0;
}

// embedding(weight, indices, padding_idx, scale_grad_by_freq, sparse)
std::optional<IndexReadCall> ParseEmbedding(const OpCall& call) {
  const TensorDesc* table = call.InputTensor(0);
  const TensorDesc* index = call.InputTensor(1);
  const TensorDesc* out = call.OutputTensor(0);
  if (call.name != "aten::embedding" || !Fit(table, index, out)) {
    return std::nullopt;
  }
  return IndexReadCall{table, out, IndexedRows(*index, table->shape[0], table->shape[1])};
}

// embedding_dense_backward(grad, indices, num_weights, padding_idx, scale_grad_by_freq)
std::optional<EmbeddingGrad> ParseEmbeddingGrad(const OpCall& call) {
  const EmbeddingGrad p{call.InputTensor(0), call.InputTensor(1), call.OutputTensor(0),
                        call.Argument(3).AsNumber<std::int64_t>(-1)};
  const bool fits = call.name == "aten::embedding_dense_backward" &&
                    Fit(p.table, p.index, p.grad) && IsFloatKernelType(p.grad->dtype) &&
                    !TruthOr(call.Argument(4), false);  // no scaling by frequency
  return fits ? std::optional(p) : std::nullopt;
}

Status ReferenceEmbeddingGrad(const EmbeddingGrad& p, const HostBindings& memory) {
  REPRISE_ASSIGN(const Integers index, ReadIntegers(*p.index, memory));
  REPRISE_ASSIGN(const Doubles grad, ReadDoubles(*p.grad, memory));
  const auto width = static_cast<std::size_t>(p.width());
  Doubles table(static_cast<std::size_t>(Count(*p.table)), 0);
  for (std::size_t k = 0; k < grad.size(); ++k) {
    const std::int64_t row = InRange(index[k / width], p.rows());
    if (row != p.padding) {
      table[static_cast<std::size_t>(row) * width + k % width] += grad[k];
    }
  }
  return WriteDoubles(*p.table, memory, table);
}

Status RunEmbeddingGradOnHost(const EmbeddingGrad& p, const HostBindings& memory) {
  if (Count(*p.grad) == 0 || !IsContiguous(*p.table) || !IsContiguous(*p.grad) ||
      !AreFloats({p.table})) {
    return ReferenceEmbeddingGrad(p, memory);
  }
  REPRISE_ASSIGN(const Integers index, ReadIntegers(*p.index, memory));
  const std::int64_t width = p.width();
  REPRISE_ASSIGN(const FloatsIn grad, FloatsIn::Read(*p.grad, memory));
  REPRISE_ASSIGN(FloatsOut table, FloatsOut::Write(*p.table, memory));
  // Each part of the table looks for its own rows, so that sums are taken in one order.
  ParallelFor(p.rows(), GrainSize(sizeof(float) * static_cast<double>(width)),
              [&](std::int64_t begin, std::int64_t end) {
                std::fill(table.data() + begin * width, table.data() + end * width, 0.0F);
                for (std::size_t j = 0; j < index.size(); ++j) {
                  const std::int64_t row = InRange(index[j], p.rows());
                  if (row >= begin && row < end && row != p.padding) {
                    loops::Accumulate(grad.data() + static_cast<std::int64_t>(j) * width,
                                      loops::Map::kValue, table.data() + row * width, width);
                  }
                }
              });
  return table.Store(memory);
}

void LowerEmbeddingGrad(const EmbeddingGrad& p, RowLowering& rows) {
  IndexRows job = IndexedRows(*p.index, p.rows(), p.width()).Job(rows);
  job.rows = rows.Read(*p.grad);
  job.table = rows.Write(*p.table);
  job.skip = p.padding;
  job.clear = true;
  AppendWriteRows(rows, job, p.table->dtype, IndexWrite::kAdd);
}

std::vector<OpCall> EmbeddingSamples() {
  using samples::Bool, samples::Int;
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

}  // namespace

std::unique_ptr<Kernel> MakeEmbedding() {
  return MakeParsedKernel({"embedding", "index_read.cl", EmbeddingSamples},
                          CallForm<IndexReadCall>{ParseEmbedding, ReferenceIndexRead,
                                                  LowerIndexRead, RunIndexReadOnHost},
                          CallForm<EmbeddingGrad>{ParseEmbeddingGrad, ReferenceEmbeddingGrad,
                                                  LowerEmbeddingGrad, RunEmbeddingGradOnHost});
}

}  // namespace reprise
