#include "predict/workload/families/layer_parts.h"

#include "predict/workload/ops/model_operators.h"
#include "predict/workload/parallel/adapters.h"
#include "predict/workload/parallel/context.h"
#include "predict/workload/parallel/tensor.h"

namespace reprise {

WeightAndBias NewLinear(Unit& unit, const Workload& w, std::int64_t rows, std::int64_t columns,
                        Division division, bool bias) {
  const Layout& l = w.layout;
  const bool whole = division == Division::kWhole;
  WeightAndBias made{unit.NewParameter({rows, columns})};
  made.weight->scaled = true;
  made.weight->parts = whole ? 1 : l.tp;
  made.weight->tp_sum = whole && l.sequence_parallel;
  made.weight->copies = whole && !l.sequence_parallel ? l.tp : 1;
  if (bias) {
    made.bias = unit.NewParameter({rows});
    made.bias->parts = division == Division::kColumns ? l.tp : 1;
    made.bias->tp_sum = division != Division::kColumns && l.sequence_parallel;
  }
  return made;
}

LoraAdapter NewAdapter(Unit& unit, const Workload& w, std::string_view target, std::int64_t rows,
                       std::int64_t columns, Division division) {
  if (!w.lora || !w.lora->Has(target)) {
    return {};
  }
  const std::int64_t t = w.layout.tp;
  const std::int64_t rank = w.lora->rank;
  const LoraAdapter made =
      division == Division::kColumns
          ? LoraAdapter{unit.NewParameter({rank / t, columns}), unit.NewParameter({rows, rank})}
          : LoraAdapter{unit.NewParameter({rank, columns}), unit.NewParameter({rows / t, rank})};
  for (Parameter* one : {made.down, made.up}) {
    one->adapter = true;
    one->parts = t;
  }
  return made;
}

WeightAndBias NewNorm(Unit& unit, const Workload& w, std::int64_t size) {
  WeightAndBias norm{unit.NewParameter({size})};
  norm.weight->tp_sum = w.layout.sequence_parallel;
  if (!w.model.rms_norm) {
    norm.bias = unit.NewParameter({size});
    norm.bias->tp_sum = w.layout.sequence_parallel;
  }
  return norm;
}

Var Norm(Builder& b, const Var& x, const WeightAndBias& norm) {
  return norm.bias == nullptr ? RmsNorm(b, x, *norm.weight)
                              : LayerNorm(b, x, *norm.weight, *norm.bias);
}

LayerBody::LayerBody(Unit& unit, const Workload& w, std::int64_t number)
    : norm1_(NewNorm(unit, w, w.model.hidden)),
      attention_(w.model.LatentAttention() ? NewLatentAttention(unit, w)
                                           : NewAttention(unit, w, number)),
      norm2_(NewNorm(unit, w, w.model.hidden)),
      feed_forward_(NewFeedForward(unit, w, number)) {}

Var LayerBody::Forward(Builder& b, const Var& x) {
  const auto with = [&b](const Var& stream, const WeightAndBias& norm, LayerPart& part) {
    Var sum = part.Forward(b, Norm(b, stream, norm));
    if (Parameter* const bias = part.BiasLeft(b.workload); bias != nullptr) {
      sum = Add(b, sum, Var{.tensor = bias->value, .parameter = bias});
    }
    return Add(b, stream, Dropout(b, sum, b.model().dropout));
  };
  return with(with(x, norm1_, *attention_), norm2_, *feed_forward_);
}

Var ComputeModule(Builder& b, std::string_view module, const std::vector<Var>& inputs,
                  const std::function<Var(const std::vector<Var>&)>& function) {
  if (!b.workload.Recomputes(module)) {
    return function(inputs);
  }
  std::vector<Var> given = inputs;
  if (module == kDenseBlock) {  // the others have no adapters
    given[0] = b.tape->WithGradient(given[0]);
  }
  return Checkpoint(b, given, function);
}

Var TurnByPosition(Builder& b, const Var& x, std::int64_t size) {
  const ModelShape& m = b.model();
  if (!m.rotary) {
    return x;
  }
  const std::vector<std::int64_t> table =
      m.batch_first ? std::vector{x.shape()[1], std::int64_t{1}, size}
                    : std::vector{x.shape()[0], std::int64_t{1}, std::int64_t{1}, size};
  const auto turned = [&](const Var& part) {
    return Rotary(b, part, b.Constant("cosines", b.dtype(), table),
                  b.Constant("sines", b.dtype(), table));
  };
  const std::int64_t all = x.shape().back();
  if (size == all) {
    return turned(x);
  }
  const std::vector<Var> parts = Split(b, x, {size, all - size});
  return Concatenate(b, {turned(parts[0]), parts[1]},
                     static_cast<std::int64_t>(x.shape().size()) - 1);
}

Var HeadsFirst(Builder& b, const Var& x) {
  return b.model().batch_first ? Transpose(b, x, 1, 2) : Permute(b, x, {1, 2, 0, 3});
}

Var AttentionOfHeads(Builder& b, const Var& q, const Var& k, const Var& v, std::int64_t window,
                     Parameter* sinks) {
  const ModelShape& m = b.model();
  AttentionKind kind = {.causal = m.causal, .window = window, .sinks = sinks};
  kind.packed = !b.workload.documents.empty();
  const auto core = [&b, kind](const std::vector<Var>& in) {
    return b.layout().cp > 1           ? ContextAttention(b, in[0], in[1], in[2], kind)
           : b.model().fused_attention ? FusedAttention(b, in[0], in[1], in[2], kind)
                                       : UnfusedAttention(b, in[0], in[1], in[2], kind);
  };
  // The ring keeps nothing that could be computed again.
  const bool ring = b.layout().cp > 1 && b.layout().cp_comm_type == ContextComm::kRing;
  Var out = ring ? core({q, k, v}) : ComputeModule(b, kCoreAttention, {q, k, v}, core);
  out = m.batch_first ? Transpose(b, out, 1, 2) : Permute(b, out, {2, 0, 1, 3});
  out = Contiguous(b, out);
  std::vector<std::int64_t> shape(out.shape().begin(), out.shape().end() - 2);
  shape.push_back(v.shape().back() * q.shape()[1]);
  return View(b, out, shape, "aten::reshape");
}

Var LastLinear(Builder& b, const Var& x, const WeightAndBias& weights) {
  const Var y = b.layout().tp == 1 ? Linear(b, x, *weights.weight, weights.bias)
                                   : LinearAndLeave(b, x, *weights.weight);
  return WithRowAdapter(b, y, x, weights.adapter);
}

}  // namespace reprise
