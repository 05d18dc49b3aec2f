#include "workload/parallel/tensor.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "workload/ops/model_operators.h"
#include "workload/parallel/parallelism.h"
#include "workload/parameters.h"

namespace reprise {
namespace {

constexpr const char* kGroup = "tp";

// Transformer Engine's default number of parts.
constexpr std::int64_t kMaxParts = 4;

bool Overlapped(const Builder& b) {
  return b.workload.overlap.tp && b.layout().tp > 1 && b.layout().sequence_parallel;
}

std::int64_t NumberOfParts(std::int64_t size) {
  std::int64_t parts = std::min(kMaxParts, size);
  while (size % parts != 0) {
    --parts;
  }
  return parts;
}

Regathered::Gathering StartGather(Builder& b, const TensorDesc& part, bool async) {
  std::vector<std::int64_t> shape = part.shape;
  shape[0] *= b.layout().tp;
  const TensorDesc whole = b.out.New(part.dtype, shape);
  return {whole, b.AllGather(kGroup, part, whole, async)};
}

TensorDesc GatherSequence(Builder& b, const TensorDesc& part) {
  const Regathered::Gathering gathering = StartGather(b, part, false);
  b.out.Wait(gathering.issued);
  return gathering.tensor;
}

struct Arriving {
  TensorDesc tensor;
  std::shared_ptr<Arrival> arrival;
};
// The same in parts, without a wait yet.
Arriving GatherInParts(Builder& b, const TensorDesc& part) {
  const std::int64_t tp = b.layout().tp;
  const std::int64_t count = NumberOfParts(part.shape[0]);
  const std::int64_t row = part.elements / part.shape[0];
  const std::int64_t rows = part.shape[0] / count;
  std::vector<std::int64_t> shape = part.shape;
  shape[0] *= tp;
  Arriving out{b.out.New(part.dtype, shape), std::make_shared<Arrival>()};
  out.arrival->members = tp;
  shape[0] = rows;
  std::vector<std::int64_t> strides = ContiguousStrides(shape);
  std::vector<std::int64_t> places = shape;
  places.insert(places.begin(), tp);
  strides.insert(strides.begin(), part.elements);
  for (std::int64_t c = 0; c < count; ++c) {
    const TensorDesc from = b.out.Part(part, c * rows * row, shape);
    const TensorDesc to = b.out.Alias(out.tensor, places, strides, c * rows * row);
    out.arrival->parts.push_back(b.AllGather(kGroup, from, to, true));
  }
  return out;
}

TensorDesc ScatterSequence(Builder& b, const TensorDesc& whole, bool overlapped) {
  std::vector<std::int64_t> shape = whole.shape;
  shape[0] /= b.layout().tp;
  TensorDesc part = b.out.New(whole.dtype, shape);
  const Issued issued = b.ReduceScatter(kGroup, whole, part, overlapped);
  b.RunDeferred();  // weight gradients run beside it
  b.out.Wait(issued);
  return part;
}

struct VocabularyMask {
  TensorDesc ids, mask;
};
// Ids of the vocabulary as rows of this rank's part; masked where another rank has them.
VocabularyMask MaskIds(Builder& b, const TensorDesc& ids, std::int64_t rows) {
  const std::int64_t first = 0;  // every rank of the class has its own range of the same size
  const auto compare = [&](const char* name, std::int64_t bound) {
    TensorDesc result = b.out.New(DType::kBool, ids.shape);
    b.out.Work(name, {Of(ids), OfInt(bound)}, {Of(result)});
    return result;
  };
  const TensorDesc below = compare("aten::lt", first);
  const TensorDesc above = compare("aten::ge", first + rows);
  VocabularyMask out;
  out.mask = b.out.New(DType::kBool, ids.shape);
  b.out.Work("aten::bitwise_or", {Of(below), Of(above)}, {Of(out.mask)});
  const TensorDesc shifted = b.NewLike(ids);
  b.out.Work("aten::sub", {Of(ids), OfInt(first), OfInt(1)}, {Of(shifted)});
  out.ids = b.NewLike(ids);
  b.out.Work("aten::masked_fill", {Of(shifted), Of(out.mask), OfInt(0)}, {Of(out.ids)});
  return out;
}

class TensorParallel final : public Parallelism {
 public:
  [[nodiscard]] std::string_view name() const override { return "tensor"; }
  [[nodiscard]] std::string_view help() const override {
    return "linear layers, heads and vocabulary divided; with sequence parallelism the rest, too";
  }
  [[nodiscard]] std::vector<GroupRole> Groups(const Workload& w) const override {
    return {ByRule(w.layout, kGroup, "TENSOR_MODEL_PARALLEL_GROUP", {kTensorAxis})};
  }
  [[nodiscard]] Status Check(const Workload& w) const override {
    if (w.layout.sequence_parallel && w.layout.tp == 1) {
      return BadInput(
          "sequence parallelism needs tensor parallelism (\"tp\" above 1): it divides what tensor "
          "parallelism leaves whole");
    }
    return {};
  }
  // What every rank holds whole was computed from its part of the sequence.
  void AfterBackward(Builder& b, ParameterStore& store) const override {
    if (b.layout().tp == 1) {
      return;
    }
    std::vector<TensorDesc> gradients;
    std::int64_t elements = 0;
    for (Unit* unit : store.units()) {
      for (const Parameter& parameter : unit->parameters()) {
        if (parameter.tp_sum) {
          gradients.push_back(store.GradientOf(parameter));
          elements += gradients.back().elements;
        }
      }
    }
    if (gradients.empty()) {
      return;
    }
    b.Op("finalize_model_grads");
    const TensorDesc flat = b.out.New(gradients[0].dtype, {elements});
    b.out.Work("aten::cat", {OfTensors(gradients), OfInt(0)}, {Of(flat)});
    b.out.Wait(b.AllReduce(kGroup, flat));
    std::vector<TensorDesc> parts;
    std::int64_t at = 0;
    for (const TensorDesc& gradient : gradients) {
      parts.push_back(b.out.Part(flat, at, gradient.shape));
      at += gradient.elements;
    }
    b.out.Work("aten::_foreach_copy_", {OfTensors(gradients), OfTensors(parts), OfBool(false)},
               {OfTensors(gradients)});
  }
};

}  // namespace

std::unique_ptr<Parallelism> MakeTensorParallel() { return std::make_unique<TensorParallel>(); }

Var EnterTensorParallel(Builder& b, const Var& x, bool linear) {
  if (b.layout().tp == 1) {
    return x;
  }
  const bool overlapped = b.workload.overlap.tp;
  b.Op("EnterTP");
  if (!b.layout().sequence_parallel) {
    const TensorDesc same = b.out.Part(x.tensor, 0, x.shape());
    b.out.Host("aten::view_as", {Of(x.tensor), Of(x.tensor)}, {Of(same)});
    return b.tape->Record("EnterTPBackward", {x}, {same},
                          [&b, overlapped](std::vector<Grad>& results) {
                            const TensorDesc gradient = *results[0].tensor;
                            const Issued issued = b.AllReduce(kGroup, gradient, overlapped);
                            b.RunDeferred();
                            b.out.Wait(issued);
                            return std::vector<Grad>{{gradient, true}};
                          })[0];
  }
  const Arriving whole = linear && overlapped ? GatherInParts(b, x.tensor)
                                              : Arriving{GatherSequence(b, x.tensor), nullptr};
  const TensorDesc part = x.tensor;
  auto regathered = std::make_shared<Regathered>(
      b.out, [&b, part, overlapped] { return StartGather(b, part, overlapped); });
  Var out = b.tape->Record("EnterTPBackward", {x}, {whole.tensor},
                           [&b, regathered, overlapped](std::vector<Grad>& results) {
                             const TensorDesc part =
                                 ScatterSequence(b, *results[0].tensor, overlapped);
                             regathered->Release();
                             return std::vector<Grad>{{part, true}};
                           })[0];
  out.regathered = std::move(regathered);
  out.arrival = whole.arrival;
  return out;
}

Var LeaveTensorParallel(Builder& b, const Var& x) {
  if (b.layout().tp == 1) {
    return x;
  }
  b.Op("LeaveTP");
  if (!b.layout().sequence_parallel) {
    b.out.Wait(b.AllReduce(kGroup, x.tensor));
    return b.tape->Record("LeaveTPBackward", {x}, {x.tensor}, [](std::vector<Grad>& results) {
      return std::vector<Grad>{results[0]};
    })[0];
  }
  const TensorDesc part = ScatterSequence(b, x.tensor, false);
  return b.tape->Record("LeaveTPBackward", {x}, {part}, [&b](std::vector<Grad>& results) {
    return std::vector<Grad>{{GatherSequence(b, *results[0].tensor), true}};
  })[0];
}

Var LinearAndLeave(Builder& b, const Var& x, Parameter& weight) {
  if (!Overlapped(b)) {
    return LeaveTensorParallel(b, Linear(b, x, weight, nullptr));
  }
  std::vector<std::int64_t> shape = x.shape();
  shape[0] /= b.layout().tp;
  shape.back() = weight.shape[0];
  const TensorDesc part = b.out.New(x.tensor.dtype, shape);
  const std::int64_t count = NumberOfParts(weight.shape[0]);
  shape.back() /= count;
  std::vector<Issued> issued;
  const Var product = LinearInParts(b, x, weight, count, [&](std::int64_t c, const TensorDesc& y) {
    const std::string outer = std::exchange(b.out.parent, "LeaveTP");
    const TensorDesc columns = b.out.Alias(part, shape, part.strides, c * shape.back());
    issued.push_back(b.ReduceScatter(kGroup, y, columns, true));
    b.out.parent = outer;
  });
  b.Op("LeaveTP");
  for (const Issued one : issued) {
    b.out.Wait(one);
  }
  return b.tape->Record("LeaveTPBackward", {product}, {part}, [&b](std::vector<Grad>& results) {
    const Arriving whole = GatherInParts(b, *results[0].tensor);
    return std::vector<Grad>{{whole.tensor, true, whole.arrival}};
  })[0];
}

Var VocabParallelEmbedding(Builder& b, Parameter& weight, const TensorDesc& ids) {
  b.Op();
  const VocabularyMask masked = MaskIds(b, ids, weight.shape[0]);
  const Var rows = Embedding(b, weight, masked.ids);
  std::vector<std::int64_t> shape = ids.shape;
  shape.push_back(1);
  const TensorDesc mask = b.out.Part(masked.mask, 0, shape);
  b.out.Host("aten::unsqueeze", {Of(masked.mask), OfInt(-1)}, {Of(mask)});
  return MaskedFill(b, rows, mask);
}

Var VocabParallelCrossEntropy(Builder& b, const Var& logits, const TensorDesc& labels) {
  const Var scores = ToType(b, logits, DType::kFloat32);
  const std::int64_t n = labels.shape[0];
  const std::int64_t part = logits.shape()[1];
  b.Op("VocabParallelCrossEntropy");
  const auto row_numbers = [&] { return b.out.New(DType::kFloat32, {n, 1}); };
  const TensorDesc largest = row_numbers();
  b.out.Work("aten::amax", {Of(scores.tensor), OfInts({-1}), OfBool(true)}, {Of(largest)});
  b.out.Wait(b.AllReduce(kGroup, largest, false, {}, ReduceOp::kMax));
  b.out.Work("aten::sub_", {Of(scores.tensor), Of(largest), OfInt(1)}, {Of(scores.tensor)});
  const VocabularyMask masked = MaskIds(b, labels, part);
  const TensorDesc index = b.out.Part(masked.ids, 0, {n, 1});
  b.out.Host("aten::unsqueeze", {Of(masked.ids), OfInt(-1)}, {Of(index)});
  const TensorDesc picked = row_numbers();
  b.out.Work("aten::gather", {Of(scores.tensor), OfInt(1), Of(index), OfBool(false)}, {Of(picked)});
  const TensorDesc mask = b.out.Part(masked.mask, 0, {n, 1});
  b.out.Host("aten::unsqueeze", {Of(masked.mask), OfInt(-1)}, {Of(mask)});
  const TensorDesc predicted = row_numbers();
  b.out.Work("aten::masked_fill", {Of(picked), Of(mask), OfDouble(0)}, {Of(predicted)});
  b.out.Wait(b.AllReduce(kGroup, predicted));
  const TensorDesc softmax = scores.tensor;  // in place from here on
  b.out.Work("aten::exp_", {Of(softmax)}, {Of(softmax)});
  const TensorDesc sum = row_numbers();
  b.out.Work("aten::sum", {Of(softmax), OfInts({-1}), OfBool(true), {}}, {Of(sum)});
  b.out.Wait(b.AllReduce(kGroup, sum));
  const TensorDesc log = row_numbers();
  b.out.Work("aten::log", {Of(sum)}, {Of(log)});
  const TensorDesc losses = row_numbers();
  b.out.Work("aten::sub", {Of(log), Of(predicted), OfInt(1)}, {Of(losses)});
  b.out.Work("aten::div_", {Of(softmax), Of(sum)}, {Of(softmax)});
  const TensorDesc loss = b.out.New(DType::kFloat32, {});
  b.out.Work("aten::mean", {Of(losses), {}}, {Of(loss)});
  return b.tape->Record(
      "VocabParallelCrossEntropyBackward", {scores}, {loss},
      [&b, softmax, index, mask, n](std::vector<Grad>& results) {
        const TensorDesc numbers = b.out.New(DType::kFloat32, {n, 1});
        b.out.Work("aten::copy_", {Of(numbers), Of(mask), OfBool(false)}, {Of(numbers)});
        const TensorDesc update = b.out.New(DType::kFloat32, {n, 1});
        b.out.Work("aten::sub", {Of(numbers), OfInt(1), OfInt(1)}, {Of(update)});
        b.out.Work("aten::scatter_add_", {Of(softmax), OfInt(1), Of(index), Of(update)},
                   {Of(softmax)});
        b.out.Work("aten::mul_", {Of(softmax), Of(*results[0].tensor)}, {Of(softmax)});
        return std::vector<Grad>{{softmax, true}};
      })[0];
}

}  // namespace reprise
