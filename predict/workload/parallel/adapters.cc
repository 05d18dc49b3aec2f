#include "predict/workload/parallel/adapters.h"

#include <utility>

#include "predict/workload/ops/model_operators.h"
#include "predict/workload/parallel/tensor.h"

namespace reprise {
namespace {

constexpr const char* kAdapterGroup = "tp";
constexpr double kAlpha = 32;  // Megatron-Bridge's default, and MLPerf's; it has no effect

// The columns of all ranks, one after the other; the gradient of this rank's.
Var GatherColumns(Builder& b, const Var& x) {
  const std::int64_t ranks = b.layout().tp;
  const std::size_t last = x.shape().size() - 1;
  b.Op("GatherColumns");
  std::vector<std::int64_t> shape = x.shape();
  shape[0] *= ranks;
  const TensorDesc gathered = b.out.New(x.tensor.dtype, shape);
  b.out.Wait(b.AllGather(kAdapterGroup, x.tensor, gathered));
  Tensors parts;
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    parts.push_back(b.out.Part(gathered, rank * x.tensor.elements, x.shape()));
  }
  b.out.Host("aten::chunk", Args(gathered, ranks, 0), Args(parts));
  shape = x.shape();
  shape[last] *= ranks;
  const TensorDesc result = b.out.Work("aten::cat", Args(parts, static_cast<std::int64_t>(last)),
                                       b.out.New(x.tensor.dtype, shape));
  const std::vector<std::int64_t> own = x.shape();
  return b.Record(
      "GatherColumnsBackward", {x}, result, [&b, own, last](const TensorDesc& gradient) {
        // Every rank of the class has its own columns; these are the first one's.
        const TensorDesc columns = b.out.Host(
            "aten::slice", Args(gradient, static_cast<std::int64_t>(last), 0, own[last], 1),
            b.out.Alias(gradient, own, gradient.strides, gradient.offset));
        const TensorDesc dense = b.out.New(gradient.dtype, own);
        b.out.InPlace("aten::copy_", dense, columns, false);
        return Fresh(dense);
      });
}

// This rank's part of the sequence; the gradient of all.
Var TakeSequence(Builder& b, const Var& x) {
  const std::int64_t ranks = b.layout().tp;
  std::vector<std::int64_t> shape = x.shape();
  shape[0] /= ranks;
  b.Op("TakeSequence");
  const TensorDesc part =
      b.out.Host("aten::slice", Args(x.tensor, 0, 0, shape[0], 1), b.out.Part(x.tensor, 0, shape));
  const std::vector<std::int64_t> whole = x.shape();
  return b.Record("TakeSequenceBackward", {x}, part, [&b, whole](const TensorDesc& gradient) {
    const TensorDesc gathered = b.out.New(gradient.dtype, whole);
    b.out.Wait(b.AllGather(kAdapterGroup, gradient, gathered));
    return Fresh(gathered);
  });
}

// few: (…, rank), whole on each rank. (…, outputs / tp).
Var Up(Builder& b, const Var& few, const LoraAdapter& adapter) {
  const Var scaled = MultiplyNumber(b, few, kAlpha / static_cast<double>(b.workload.lora->rank));
  const Var whole = b.layout().tp > 1 ? CopyToTensorParallel(b, scaled) : scaled;
  return Linear(b, whole, *adapter.up, nullptr);
}

}  // namespace

Var WithColumnAdapter(Builder& b, const Var& y, const Var& x, const Var& entered,
                      const LoraAdapter& adapter) {
  if (adapter.down == nullptr) {
    return y;
  }
  const double dropout = b.workload.lora->dropout;
  // Megatron's ColumnParallelLinear sums its input's gradient itself, unless the sequence is
  // divided.
  Var in = b.layout().sequence_parallel ? Dropout(b, entered, dropout)
                                        : EnterTensorParallel(b, Dropout(b, x, dropout));
  in.regathered = nullptr;  // it is kept
  in.arrival = nullptr;
  Var few = Linear(b, in, *adapter.down, nullptr);
  if (b.layout().tp > 1) {
    few = GatherColumns(b, few);
  }
  return Add(b, y, Up(b, few, adapter));
}

Var WithRowAdapter(Builder& b, const Var& y, const Var& x, const LoraAdapter& adapter) {
  if (adapter.down == nullptr) {
    return y;
  }
  Var few = Linear(b, Dropout(b, x, b.workload.lora->dropout), *adapter.down, nullptr);
  if (b.layout().tp == 1) {
    return Add(b, y, Up(b, few, adapter));
  }
  few = SumTensorParallel(b, few);
  const Var out = GatherColumns(b, Up(b, few, adapter));
  return Add(b, y, b.layout().sequence_parallel ? TakeSequence(b, out) : out);
}

}  // namespace reprise
