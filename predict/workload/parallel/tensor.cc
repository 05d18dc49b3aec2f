#include "predict/workload/parallel/tensor.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "predict/workload/ops/model_operators.h"
#include "predict/workload/parallel/parallelism.h"
#include "predict/workload/parameters.h"

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
    return b.out.Work(name, Args(ids, bound), b.out.New(DType::kBool, ids.shape));
  };
  const TensorDesc below = compare("aten::lt", first);
  const TensorDesc above = compare("aten::ge", first + rows);
  VocabularyMask out;
  out.mask = b.out.New(DType::kBool, ids.shape);
  b.out.Work("aten::bitwise_or", Args(below, above), Args(out.mask));
  const TensorDesc shifted = b.out.Work("aten::sub", Args(ids, first, 1), b.NewLike(ids));
  out.ids = b.NewLike(ids);
  b.out.Work("aten::masked_fill", Args(shifted, out.mask, 0), Args(out.ids));
  return out;
}

std::vector<GroupRole> TensorGroups(const Workload& w) {
  return {ByRule(w.layout, kGroup, "TENSOR_MODEL_PARALLEL_GROUP", {kTensorAxis})};
}

Status CheckTensor(const Workload& w) {
  if (w.layout.sequence_parallel && w.layout.tp == 1) {
    return BadInput(
        "sequence parallelism needs tensor parallelism (\"tp\" above 1): it divides what tensor "
        "parallelism leaves whole");
  }
  return {};
}

// What every rank holds whole was computed from its part of the sequence.
void SumWhole(Builder& b, ParameterStore& store) {
  if (b.layout().tp == 1) {
    return;
  }
  std::vector<TensorDesc> gradients;
  std::int64_t elements = 0;
  for (Unit* unit : store.units) {
    for (const Parameter& parameter : unit->parameters) {
      if (parameter.tp_sum && !parameter.frozen) {
        const TensorDesc gradient = store.GradientOf(parameter);
        gradients.push_back(b.out.Part(gradient, 0, {gradient.elements}));
        elements += gradient.elements;
      }
    }
  }
  if (gradients.empty()) {
    return;
  }
  b.Op("finalize_model_grads");
  const TensorDesc flat =
      b.out.Work("aten::cat", Args(gradients, 0), b.out.New(gradients[0].dtype, {elements}));
  b.out.Wait(b.AllReduce(kGroup, flat));
  std::vector<TensorDesc> parts;
  std::int64_t at = 0;
  for (const TensorDesc& gradient : gradients) {
    parts.push_back(b.out.Part(flat, at, gradient.shape));
    at += gradient.elements;
  }
  b.out.InPlace("aten::_foreach_copy_", gradients, parts, false);
}

}  // namespace

Parallelism TensorParallel() {
  return {
      .name = "tensor",
      .help =
          "linear layers, heads and vocabulary divided; with sequence parallelism the rest, too",
      .groups = TensorGroups,
      .check = CheckTensor,
      .after_backward = SumWhole};
}

Var CopyToTensorParallel(Builder& b, const Var& x, bool async) {
  b.Op("EnterTP");
  const TensorDesc same =
      b.out.Host("aten::view_as", Args(x.tensor, x.tensor), b.out.Part(x.tensor, 0, x.shape()));
  return b.Record("EnterTPBackward", {x}, same, [&b, async](const TensorDesc& gradient) {
    const Issued issued = b.AllReduce(kGroup, gradient, async);
    b.RunDeferred();
    b.out.Wait(issued);
    return Fresh(gradient);
  });
}

Var SumTensorParallel(Builder& b, const Var& x) {
  b.Op("LeaveTP");
  b.out.Wait(b.AllReduce(kGroup, x.tensor));
  return b.tape->Record("LeaveTPBackward", {x}, {x.tensor}, [](std::vector<Grad>& results) {
    return std::vector<Grad>{results[0]};
  })[0];
}

Var EnterTensorParallel(Builder& b, const Var& x, bool linear) {
  if (b.layout().tp == 1) {
    return x;
  }
  const bool overlapped = b.workload.overlap.tp;
  if (!b.layout().sequence_parallel) {
    return CopyToTensorParallel(b, x, overlapped);
  }
  b.Op("EnterTP");
  const Arriving whole = linear && overlapped ? GatherInParts(b, x.tensor)
                                              : Arriving{GatherSequence(b, x.tensor), nullptr};
  const TensorDesc part = x.tensor;
  auto regathered = std::make_shared<Regathered>(
      b.out, [&b, part, overlapped] { return StartGather(b, part, overlapped); });
  Var out = b.Record("EnterTPBackward", {x}, whole.tensor,
                     [&b, regathered, overlapped](const TensorDesc& gradient) {
                       const TensorDesc part = ScatterSequence(b, gradient, overlapped);
                       regathered->Release();
                       return Fresh(part);
                     });
  out.regathered = std::move(regathered);
  out.arrival = whole.arrival;
  return out;
}

Var LeaveTensorParallel(Builder& b, const Var& x) {
  if (b.layout().tp == 1) {
    return x;
  }
  if (!b.layout().sequence_parallel) {
    return SumTensorParallel(b, x);
  }
  b.Op("LeaveTP");
  const TensorDesc part = ScatterSequence(b, x.tensor, false);
  return b.Record("LeaveTPBackward", {x}, part, [&b](const TensorDesc& gradient) {
    return std::vector<Grad>{{GatherSequence(b, gradient), true}};
  });
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
  return b.Record("LeaveTPBackward", {product}, part, [&b](const TensorDesc& gradient) {
    const Arriving whole = GatherInParts(b, gradient);
    return std::vector<Grad>{{whole.tensor, true, whole.arrival}};
  });
}

Var VocabParallelEmbedding(Builder& b, Parameter& weight, const TensorDesc& ids) {
  b.Op();
  const VocabularyMask masked = MaskIds(b, ids, weight.shape[0]);
  const Var rows = Embedding(b, weight, masked.ids);
  std::vector<std::int64_t> shape = ids.shape;
  shape.push_back(1);
  return MaskedFill(
      b, rows,
      b.out.Host("aten::unsqueeze", Args(masked.mask, -1), b.out.Part(masked.mask, 0, shape)));
}

Var VocabParallelCrossEntropy(Builder& b, const Var& logits, const TensorDesc& labels) {
  const Var scores = ToType(b, logits, DType::kFloat32);
  const std::int64_t n = labels.shape[0];
  const std::int64_t part = logits.shape()[1];
  b.Op("VocabParallelCrossEntropy");
  const auto row_numbers = [&] { return b.out.New(DType::kFloat32, {n, 1}); };
  const TensorDesc largest = row_numbers();
  b.out.Work("aten::amax", Args(scores.tensor, Ints{-1}, true), Args(largest));
  b.out.Wait(b.AllReduce(kGroup, largest, false, {}, ReduceOp::kMax));
  b.out.InPlace("aten::sub_", scores.tensor, largest, 1);
  const VocabularyMask masked = MaskIds(b, labels, part);
  const TensorDesc index =
      b.out.Host("aten::unsqueeze", Args(masked.ids, -1), b.out.Part(masked.ids, 0, {n, 1}));
  const TensorDesc picked = row_numbers();
  b.out.Work("aten::gather", Args(scores.tensor, 1, index, false), Args(picked));
  const TensorDesc mask =
      b.out.Host("aten::unsqueeze", Args(masked.mask, -1), b.out.Part(masked.mask, 0, {n, 1}));
  const TensorDesc predicted = row_numbers();
  b.out.Work("aten::masked_fill", Args(picked, mask, 0.0), Args(predicted));
  b.out.Wait(b.AllReduce(kGroup, predicted));
  const TensorDesc softmax = scores.tensor;  // in place from here on
  b.out.InPlace("aten::exp_", softmax);
  const TensorDesc sum = row_numbers();
  b.out.Work("aten::sum", Args(softmax, Ints{-1}, true, kNoValue), Args(sum));
  b.out.Wait(b.AllReduce(kGroup, sum));
  const TensorDesc log = row_numbers();
  b.out.Work("aten::log", Args(sum), Args(log));
  const TensorDesc losses = row_numbers();
  b.out.Work("aten::sub", Args(log, predicted, 1), Args(losses));
  b.out.InPlace("aten::div_", softmax, sum);
  const TensorDesc loss =
      b.out.Work("aten::mean", Args(losses, kNoValue), b.out.New(DType::kFloat32, {}));
  return b.Record("VocabParallelCrossEntropyBackward", {scores}, loss,
                  [&b, softmax, index, mask, n](const TensorDesc& gradient) {
                    const TensorDesc numbers = b.out.New(DType::kFloat32, {n, 1});
                    b.out.InPlace("aten::copy_", numbers, mask, false);
                    const TensorDesc update = b.out.Work("aten::sub", Args(numbers, 1, 1),
                                                         b.out.New(DType::kFloat32, {n, 1}));
                    b.out.InPlace("aten::scatter_add_", softmax, 1, index, update);
                    b.out.InPlace("aten::mul_", softmax, gradient);
                    return Fresh(softmax);
                  });
}

}  // namespace reprise
