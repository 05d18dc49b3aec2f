// Bags of embedding rows: kernels/ops/indexing/embedding_bag.cl.
#include <algorithm>
#include <optional>

#include "kernels/ops/common/host_values.h"
#include "kernels/ops/common/parsed_kernel.h"
#include "kernels/ops/indexing/indexed.h"
#include "kernels/samples.h"

namespace reprise {
namespace {

constexpr std::int32_t kMean = 1;
constexpr std::int32_t kMax = 2;

struct EmbeddingBagCall {
  bool backward = false;
  const TensorDesc* table = nullptr;    // weight (rows, D); backward: its gradient, written
  const TensorDesc* bags = nullptr;     // result (bags, D); backward: its gradient
  const TensorDesc* indices = nullptr;  // (n)
  const TensorDesc* offsets = nullptr;  // forward only
  const TensorDesc* weights = nullptr;  // one for each index; sums only
  // Written forward where they have the size that is meant, read backward.
  const TensorDesc* bag_of = nullptr;   // (n)
  const TensorDesc* sizes = nullptr;    // (bags)
  const TensorDesc* largest = nullptr;  // (bags, D); maxima only
  std::int64_t padding = -1;
  std::int32_t mode = 0;

  [[nodiscard]] std::int64_t n() const { return Count(*indices); }
  [[nodiscard]] std::int64_t rows() const { return table->shape[0]; }
  [[nodiscard]] std::int64_t width() const { return table->shape[1]; }
  [[nodiscard]] std::int64_t count() const { return bags->shape[0]; }
};

// The tensor if it is there, of the indices' dtype and of so many elements.
const TensorDesc* Sized(const TensorDesc* tensor, const EmbeddingBagCall& p, std::int64_t count) {
  return tensor != nullptr && tensor->dtype == p.indices->dtype && Count(*tensor) == count
             ? tensor
             : nullptr;
}

bool SetForward(const OpCall& call, EmbeddingBagCall& p) {
  p.table = call.InputTensor(0);
  p.bags = call.OutputTensor(0);
  p.offsets = call.InputTensor(2);
  p.mode = call.Argument(4).AsNumber<std::int32_t>(0);
  p.weights = call.InputTensor(6);
  p.padding = call.Argument(8).AsNumber<std::int64_t>(-1);
  return p.offsets != nullptr && p.offsets->dtype == p.indices->dtype;
}

bool SetBackward(const OpCall& call, EmbeddingBagCall& p) {
  p.backward = true;
  p.table = call.OutputTensor(0);
  p.bags = call.InputTensor(0);
  p.mode = call.Argument(7).AsNumber<std::int32_t>(0);
  p.weights = call.InputTensor(8);
  p.padding = call.Argument(9).AsNumber<std::int64_t>(-1);
  return !TruthOr(call.Argument(6), false);  // no scaling by frequency
}

// _embedding_bag(weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights,
//                include_last_offset, padding_idx) -> output, offset2bag, bag_size, max_indices
// _embedding_bag_dense_backward(grad, indices, offset2bag, bag_size, maximum_indices, num_weights,
//                               scale_grad_by_freq, mode, per_sample_weights, padding_idx)
std::optional<EmbeddingBagCall> ParseEmbeddingBag(const OpCall& call) {
  EmbeddingBagCall p;
  p.indices = call.InputTensor(1);
  if (p.indices == nullptr || !IsIndexType(p.indices->dtype) || Rank(*p.indices) != 1) {
    return std::nullopt;
  }
  const bool backward = call.name == "aten::_embedding_bag_dense_backward";
  if (!(backward ? SetBackward(call, p) : SetForward(call, p)) || p.table == nullptr ||
      p.bags == nullptr || Rank(*p.table) != 2 || Rank(*p.bags) != 2 || p.rows() == 0 ||
      p.bags->shape[1] != p.width() || p.table->dtype != p.bags->dtype ||
      !IsFloatKernelType(p.table->dtype) || p.mode < 0 || p.mode > kMax) {
    return std::nullopt;
  }
  const auto state = [&](std::size_t i) {
    return backward ? call.InputTensor(i + 1) : call.OutputTensor(i);
  };
  p.bag_of = Sized(state(1), p, p.n());
  p.sizes = Sized(state(2), p, p.count());
  p.largest = p.mode == kMax ? Sized(state(3), p, Count(*p.bags)) : nullptr;
  const std::int64_t entries = p.offsets != nullptr ? Count(*p.offsets) : p.count();
  const bool weighted = p.weights == nullptr || (p.mode == 0 && Count(*p.weights) == p.n() &&
                                                 p.weights->dtype == p.table->dtype);
  const bool known = !backward || (p.bag_of != nullptr && p.sizes != nullptr &&
                                   (p.mode != kMax || p.largest != nullptr));
  const bool fits = entries == p.count() || entries == p.count() + 1;
  return weighted && known && fits ? std::optional(p) : std::nullopt;
}

Integers StartsOf(const EmbeddingBagCall& p, const Integers& offsets) {
  Integers starts;
  std::int64_t start = 0;
  for (const std::int64_t offset : offsets) {
    start = std::max(start, std::clamp<std::int64_t>(offset, 0, p.n()));
    starts.push_back(start);
  }
  starts.resize(static_cast<std::size_t>(p.count()) + 1, p.n());
  return starts;
}

Status Forward(const EmbeddingBagCall& p, const HostBindings& memory) {
  REPRISE_ASSIGN(const Doubles table, ReadDoubles(*p.table, memory));
  REPRISE_ASSIGN(const Integers indices, ReadIntegers(*p.indices, memory));
  REPRISE_ASSIGN(const Integers offsets, ReadIntegers(*p.offsets, memory));
  REPRISE_ASSIGN(const Doubles weights, ReadDoublesOr(p.weights, memory, p.n(), 1));
  const Integers starts = StartsOf(p, offsets);
  const auto width = static_cast<std::size_t>(p.width());
  Doubles bags(static_cast<std::size_t>(Count(*p.bags)), 0);
  Integers largest(bags.size(), 0);
  Integers bag_of(static_cast<std::size_t>(p.n()), 0);
  if (p.bag_of != nullptr) {  // indices before the first bag keep what they have
    REPRISE_ASSIGN(bag_of, ReadIntegers(*p.bag_of, memory));
  }
  Integers sizes(static_cast<std::size_t>(p.count()), 0);
  for (std::size_t b = 0; b < sizes.size(); ++b) {
    for (auto i = static_cast<std::size_t>(starts[b]); i < static_cast<std::size_t>(starts[b + 1]);
         ++i) {
      bag_of[i] = static_cast<std::int64_t>(b);
      const std::int64_t row = InRange(indices[i], p.rows());
      if (row == p.padding) {
        continue;
      }
      const bool first = sizes[b]++ == 0;
      for (std::size_t d = 0; d < width; ++d) {
        const double v = table[static_cast<std::size_t>(row) * width + d] * weights[i];
        double& total = bags[b * width + d];
        if (p.mode != kMax) {
          total += v;
        } else if (first || v > total) {
          total = v;
          largest[b * width + d] = row;
        }
      }
    }
    for (std::size_t d = 0; p.mode == kMean && sizes[b] > 0 && d < width; ++d) {
      bags[b * width + d] /= static_cast<double>(sizes[b]);
    }
  }
  REPRISE_TRY(WriteDoubles(*p.bags, memory, bags));
  REPRISE_TRY(p.bag_of == nullptr ? Status{} : WriteIntegers(*p.bag_of, memory, bag_of));
  REPRISE_TRY(p.sizes == nullptr ? Status{} : WriteIntegers(*p.sizes, memory, sizes));
  return p.largest == nullptr ? Status{} : WriteIntegers(*p.largest, memory, largest);
}

Status Backward(const EmbeddingBagCall& p, const HostBindings& memory) {
  REPRISE_ASSIGN(const Doubles grad, ReadDoubles(*p.bags, memory));
  REPRISE_ASSIGN(const Integers sizes, ReadIntegers(*p.sizes, memory));
  const auto width = static_cast<std::size_t>(p.width());
  Doubles table(static_cast<std::size_t>(Count(*p.table)), 0);
  const auto add = [&](std::int64_t index, std::size_t d, double v) {
    const std::int64_t row = InRange(index, p.rows());
    if (row != p.padding) {
      table[static_cast<std::size_t>(row) * width + d] += v;
    }
  };
  if (p.mode == kMax) {
    REPRISE_ASSIGN(const Integers largest, ReadIntegers(*p.largest, memory));
    for (std::size_t k = 0; k < largest.size(); ++k) {
      if (sizes[k / width] != 0) {
        add(largest[k], k % width, grad[k]);
      }
    }
    return WriteDoubles(*p.table, memory, table);
  }
  REPRISE_ASSIGN(const Integers indices, ReadIntegers(*p.indices, memory));
  REPRISE_ASSIGN(const Integers bag_of, ReadIntegers(*p.bag_of, memory));
  REPRISE_ASSIGN(const Doubles weights, ReadDoublesOr(p.weights, memory, p.n(), 1));
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const auto bag = static_cast<std::size_t>(InRange(bag_of[i], p.count()));
    const auto size = static_cast<double>(std::max<std::int64_t>(sizes[bag], 1));
    for (std::size_t d = 0; d < width; ++d) {
      add(indices[i], d, grad[bag * width + d] * weights[i] / (p.mode == kMean ? size : 1));
    }
  }
  return WriteDoubles(*p.table, memory, table);
}

void LowerForward(const EmbeddingBagCall& p, RowLowering& rows) {
  const DenseOperand table = rows.Read(*p.table);
  const DenseOperand indices = rows.Read(*p.indices);
  const DenseOperand weights = rows.ReadOr(p.weights, table);
  const DenseOperand out = rows.Write(*p.bags);
  const DenseOperand starts = rows.Scratch((p.count() + 1) * SizeOf(DType::kInt64));
  const DenseOperand largest = rows.WriteOr(p.largest, starts);
  const DenseOperand bag_of = rows.UpdateOr(p.bag_of, starts);
  const DenseOperand sizes = rows.WriteOr(p.sizes, starts);
  rows.LaunchGroups("bag_starts", 1, rows.Read(*p.offsets), starts, Count(*p.offsets), p.count(),
                    p.n());
  rows.LaunchItems("bag_forward", Count(*p.bags), table, indices, starts, weights,
                   p.weights != nullptr, out, largest, p.largest != nullptr, p.rows(), p.width(),
                   p.count(), p.mode, p.padding);
  rows.LaunchItems("bag_members", p.count(), indices, starts, bag_of, p.bag_of != nullptr, sizes,
                   p.sizes != nullptr, p.rows(), p.count(), p.padding);
}

void LowerBackward(const EmbeddingBagCall& p, RowLowering& rows) {
  const DenseOperand grad = rows.Read(*p.bags);
  const DenseOperand sizes = rows.Read(*p.sizes);
  const DenseOperand table = rows.Write(*p.table);
  if (p.mode == kMax) {
    rows.LaunchItems("bag_max_grad", p.width(), grad, rows.Read(*p.largest), sizes, table, p.rows(),
                     p.width(), p.count(), p.padding);
    return;
  }
  const DenseOperand scaled = rows.Scratch(p.n() * p.width() * SizeOf(p.table->dtype));
  rows.LaunchItems("bag_rows_grad", p.n() * p.width(), grad, rows.Read(*p.bag_of), sizes,
                   rows.ReadOr(p.weights, grad), p.weights != nullptr, scaled, p.n(), p.width(),
                   p.count(), p.mode);
  IndexRows job = IndexedRows(*p.indices, p.rows(), p.width()).Job(rows);
  job.table = table;
  job.rows = scaled;
  job.skip = p.padding;
  job.clear = true;
  AppendWriteRows(rows, job, p.table->dtype, IndexWrite::kAdd);
}

Status ReferenceEmbeddingBag(const EmbeddingBagCall& p, const HostBindings& memory) {
  return p.backward ? Backward(p, memory) : Forward(p, memory);
}

void LowerEmbeddingBag(const EmbeddingBagCall& p, RowLowering& rows) {
  rows.UseTypes({{"X", p.table->dtype}, {"I", p.indices->dtype}}, AccumulatorOf(p.table->dtype));
  return p.backward ? LowerBackward(p, rows) : LowerForward(p, rows);
}

std::vector<OpCall> EmbeddingBagSamples() {
  using samples::Bool, samples::Int, samples::None;
  std::vector<OpCall> calls;
  const Value no = Bool(false), none = None();
  for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
    const DType index_type = dtype == DType::kFloat32 ? DType::kInt64 : DType::kInt32;
    for (const std::int64_t mode : {0, 1, 2}) {
      samples::SampleTensors t;
      const Value table{t.Strided(dtype, {11, 7}, {9, 1}, 2)};
      const Value indices{t.Tensor(index_type, {29})};
      const Value offsets{t.Tensor(index_type, {6})};
      const Value out{t.Tensor(dtype, {6, 7})};
      const Value five{t.Tensor(dtype, {5, 7})};
      const Value bag_of{t.Tensor(index_type, {29})};
      const Value sizes{t.Tensor(index_type, {6})};
      const Value largest{t.Tensor(index_type, {6, 7})};
      const Value grad{t.Tensor(dtype, {11, 7})};
      const Value weights = mode == 0 ? Value{t.Tensor(dtype, {29})} : none;
      calls.push_back({"aten::_embedding_bag",
                       {table, indices, offsets, no, Int(mode), no, weights, no, Int(4)},
                       {out, bag_of, sizes, largest}});
      calls.push_back({"aten::_embedding_bag_forward_only",
                       {table, indices, offsets, no, Int(mode), no, none, Bool(true), Int(-1)},
                       {five, none, none, none}});
      calls.push_back(
          {"aten::_embedding_bag_dense_backward",
           {out, indices, bag_of, sizes, largest, Int(11), no, Int(mode), weights, Int(4)},
           {grad}});
    }
  }
  return calls;
}

}  // namespace

std::unique_ptr<Kernel> MakeEmbeddingBag() {
  return MakeParsedKernel(
      {"embedding_bag", "embedding_bag.cl", EmbeddingBagSamples},
      CallForm<EmbeddingBagCall>{ParseEmbeddingBag, ReferenceEmbeddingBag, LowerEmbeddingBag});
}

}  // namespace reprise
