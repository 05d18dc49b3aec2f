#include "predict/workload/families/transformer.h"

#include <fmt/format.h>

#include "predict/workload/ops/model_operators.h"
#include "predict/workload/parallel/context.h"
#include "predict/workload/parallel/tensor.h"
#include "predict/workload/routing.h"

namespace reprise {

std::int64_t InnerSequence(const Workload& w) { return w.model.sequence / w.layout.cp; }
std::int64_t OuterSequence(const Workload& w) {
  return InnerSequence(w) / (w.layout.sequence_parallel ? w.layout.tp : 1);
}

std::vector<std::int64_t> ActivationShape(const Workload& w, std::int64_t sequence,
                                          std::int64_t width) {
  return w.model.batch_first ? std::vector{w.micro_batch, sequence, width}
                             : std::vector{sequence, w.micro_batch, width};
}

WeightAndBias NewNorm(Unit& unit, const Workload& w) {
  WeightAndBias norm{unit.NewParameter({w.model.hidden})};
  norm.weight->tp_sum = w.layout.sequence_parallel;
  if (!w.model.rms_norm) {
    norm.bias = unit.NewParameter({w.model.hidden});
    norm.bias->tp_sum = w.layout.sequence_parallel;
  }
  return norm;
}

Var Norm(Builder& b, const Var& x, const WeightAndBias& norm) {
  return norm.bias == nullptr ? RmsNorm(b, x, *norm.weight)
                              : LayerNorm(b, x, *norm.weight, *norm.bias);
}

TransformerLayer::TransformerLayer(const Workload& w, std::int64_t number)
    : Unit(fmt::format("layers.{}", number), true) {
  layer = number;
  const ModelShape& m = w.model;
  const std::int64_t t = w.layout.tp;
  const std::int64_t queries = m.heads * m.head_size / t;
  const std::int64_t keys = m.kv_heads * m.head_size / t;
  // Divided by columns, or by rows: then each rank adds the whole bias.
  const auto linear = [&](std::int64_t rows, std::int64_t columns, bool by_rows = false) {
    WeightAndBias made{NewParameter({rows, columns})};
    made.weight->parts = t;
    if (m.bias) {
      made.bias = NewParameter({rows});
      made.bias->parts = by_rows ? 1 : t;
      made.bias->tp_sum = by_rows && w.layout.sequence_parallel;
    }
    return made;
  };
  norm1_ = NewNorm(*this, w);
  if (m.fused_qkv) {
    qkv_ = linear(queries + 2 * keys, m.hidden);
  } else {
    q_ = linear(queries, m.hidden);
    k_ = linear(keys, m.hidden);
    v_ = linear(keys, m.hidden);
  }
  out_ = linear(m.hidden, queries, true);
  norm2_ = NewNorm(*this, w);
  if (m.experts > 0) {
    router_ = NewParameter({m.experts, m.hidden});
    router_->tp_sum = t > 1;
    router_->copies = t;
  }
  const std::int64_t experts = m.experts > 0 ? m.experts / w.layout.ep : 1;
  for (std::int64_t i = 0; i < experts; ++i) {
    const ExpertWeights& made = ffn_.emplace_back(ExpertWeights{
        linear(m.ffn / t * (m.gated_ffn ? 2 : 1), m.hidden), linear(m.hidden, m.ffn / t, true)});
    for (Parameter* one : {made.up.weight, made.up.bias, made.down.weight, made.down.bias}) {
      if (one != nullptr && m.experts > 0) {
        one->expert = w.layout.ep > 1;
        one->tp_sum = false;
      }
    }
  }
}

// The residual stream and what a branch adds to it.
Var TransformerLayer::Branch(Builder& b, const Var& x, const Var& branch, Parameter* bias) {
  Var sum = branch;
  if (bias != nullptr) {
    sum = Add(b, sum, Var{.tensor = bias->value, .parameter = bias});
  }
  return Add(b, x, Dropout(b, sum, b.model().dropout));
}

Var TransformerLayer::CoreAttention(Builder& b, const Var& q, const Var& k, const Var& v) {
  const bool causal = b.model().causal;
  if (b.layout().cp > 1) {
    return RingAttention(b, q, k, v, causal);
  }
  const auto core = [&b, causal](const std::vector<Var>& in) {
    return b.model().fused_attention ? FusedAttention(b, in[0], in[1], in[2], causal)
                                     : UnfusedAttention(b, in[0], in[1], in[2], causal);
  };
  return b.workload.recompute == Recompute::kSelective ? Checkpoint(b, {q, k, v}, core)
                                                       : core({q, k, v});
}

Var TransformerLayer::Attention(Builder& b, const Var& x) {
  const ModelShape& m = b.model();
  const std::int64_t t = b.layout().tp;
  const std::int64_t size = m.head_size;
  const Var n = EnterTensorParallel(b, Norm(b, x, norm1_), true);
  std::vector<Var> qkv;
  if (m.fused_qkv) {
    const std::int64_t keys = m.kv_heads / t * size;
    qkv = Split(b, Linear(b, n, *qkv_.weight, qkv_.bias, true), {m.heads / t * size, keys, keys});
  }
  const auto heads_first = [&](Var y, std::int64_t heads, bool turned) {
    std::vector<std::int64_t> shape = y.shape();
    shape.back() = heads;
    shape.push_back(size);
    y = View(b, y, shape);
    if (turned && m.rotary) {
      const std::vector<std::int64_t> table =
          m.batch_first ? std::vector{shape[1], std::int64_t{1}, size}
                        : std::vector{shape[0], std::int64_t{1}, std::int64_t{1}, size};
      y = Rotary(b, y, b.Constant("cosines", b.dtype(), table),
                 b.Constant("sines", b.dtype(), table));
    }
    return m.batch_first ? Transpose(b, y, 1, 2) : Permute(b, y, {1, 2, 0, 3});
  };
  const auto project = [&](std::size_t i, const WeightAndBias& own) {
    return m.fused_qkv ? qkv[i] : Linear(b, n, *own.weight, own.bias, true);
  };
  const Var q = heads_first(project(0, q_), m.heads / t, true);
  const Var k = heads_first(project(1, k_), m.kv_heads / t, true);
  const Var v = heads_first(project(2, v_), m.kv_heads / t, false);
  Var out = CoreAttention(b, q, k, v);
  out = m.batch_first ? Transpose(b, out, 1, 2) : Permute(b, out, {2, 0, 1, 3});
  out = Contiguous(b, out);
  std::vector<std::int64_t> shape(out.shape().begin(), out.shape().end() - 2);
  shape.push_back(m.heads / t * size);
  out = View(b, out, shape, "aten::reshape");
  return t == 1 ? Linear(b, out, *out_.weight, out_.bias) : LinearAndLeave(b, out, *out_.weight);
}

Var TransformerLayer::FeedForwardBlock(Builder& b, const Var& x) {
  const std::int64_t t = b.layout().tp;
  Var n = EnterTensorParallel(b, Norm(b, x, norm2_), router_ == nullptr);
  if (router_ != nullptr) {
    const std::vector<std::int64_t> shape = n.shape();
    n = View(b, n, {n.tensor.elements / shape.back(), shape.back()});
    return LeaveTensorParallel(b, View(b, RouteThroughExperts(b, n, *router_, ffn_), shape));
  }
  const ExpertWeights& weights = ffn_[0];
  const Var up = UpAndActivation(b, n, weights);
  return t == 1 ? Linear(b, up, *weights.down.weight, weights.down.bias)
                : LinearAndLeave(b, up, *weights.down.weight);
}

Var TransformerLayer::Forward(Builder& b, const Var& x) {
  const bool apart = b.layout().tp > 1;
  const Var middle = Branch(b, x, Attention(b, x), apart ? out_.bias : nullptr);
  return Branch(b, middle, FeedForwardBlock(b, middle),
                apart && router_ == nullptr ? ffn_[0].down.bias : nullptr);
}

void AddLayers(const Workload& w, const ModelPart& part, Units& units) {
  for (std::int64_t i = 0; i < part.layers; ++i) {
    units.push_back(std::make_unique<TransformerLayer>(w, part.first_layer + i));
  }
}

TensorDesc CopyToDevice(Builder& b, DType dtype, std::vector<std::int64_t> shape) {
  TensorDesc tensor = b.out.New(dtype, shape, StorageUse::kInput);
  if (b.out.cuda()) {
    b.Op("aten::to");
    const TensorDesc source = b.out.NewOnHost(dtype, std::move(shape));
    b.out.InPlace("aten::copy_", tensor, source, true);
  }
  return tensor;
}

namespace {
// The matrix of embedding or head: divided by words among tensor-parallel ranks, or whole.
Parameter* NewVocabulary(Unit& unit, const Workload& w) {
  const std::int64_t parts = w.layout.vocab_parallel ? w.layout.tp : 1;
  Parameter* const words = unit.NewParameter({w.model.vocab / parts, w.model.hidden});
  words->tp_sum = w.layout.sequence_parallel && parts == 1;
  words->parts = parts;
  return words;
}
}  // namespace

TokenEmbedding::TokenEmbedding(const Workload& w)
    : Unit("embedding"), tokens_(NewVocabulary(*this, w)) {
  tokens_->tied = w.model.tied_embeddings && w.layout.pp > 1;
  if (!w.model.rotary) {
    positions_ = NewParameter({w.model.sequence, w.model.hidden});
    positions_->tp_sum = w.layout.sequence_parallel;
  }
}

Var TokenEmbedding::Forward(Builder& b, const Var& /*none*/) {
  const Workload& w = b.workload;
  const bool divided = tokens_->shape[0] != w.model.vocab;
  const std::int64_t outer = OuterSequence(w);
  std::vector<std::int64_t> shape = ActivationShape(w, divided ? InnerSequence(w) : outer, 0);
  shape.pop_back();
  const TensorDesc ids = CopyToDevice(b, DType::kInt64, shape);
  Var x = divided ? LeaveTensorParallel(b, VocabParallelEmbedding(b, *tokens_, ids))
                  : Embedding(b, *tokens_, ids);
  if (positions_ != nullptr) {
    b.Op();
    const TensorDesc numbers = b.out.New(DType::kInt64, {outer});
    b.out.Work("aten::arange", Args(outer, kNoValue, kNoValue, numbers.device, false),
               Args(numbers));
    Var rows = Embedding(b, *positions_, numbers);
    if (!w.model.batch_first) {
      rows = View(b, rows, {outer, 1, w.model.hidden});
    }
    x = Add(b, x, rows);
  }
  return Dropout(b, x, w.model.dropout);
}

LanguageHead::LanguageHead(const Workload& w, Parameter* shared)
    : Unit("head"), norm_(NewNorm(*this, w)), weight_(shared) {
  if (shared == nullptr) {
    weight_ = NewVocabulary(*this, w);
    weight_->tied = w.model.tied_embeddings;
  }
  const bool whole = weight_->shape[0] == w.model.vocab;
  weight_->copies = whole && !w.layout.sequence_parallel ? w.layout.tp : 1;
}

Var LanguageHead::Forward(Builder& b, const Var& x) {
  const Workload& w = b.workload;
  const bool divided = weight_->shape[0] != w.model.vocab;
  Var n = Norm(b, x, norm_);
  if (divided) {
    n = EnterTensorParallel(b, n, true);
  }
  const Var logits = Linear(b, n, *weight_, nullptr, true);
  const std::int64_t rows = n.tensor.elements / w.model.hidden;
  const Var flat = View(b, logits, {rows, weight_->shape[0]}, "aten::flatten");
  const TensorDesc labels = CopyToDevice(b, DType::kInt64, {rows});
  const Var loss =
      divided ? VocabParallelCrossEntropy(b, flat, labels) : CrossEntropy(b, flat, labels);
  return ShareOfLoss(b, loss);
}

Var ShareOfLoss(Builder& b, const Var& loss) {
  b.Op();
  const TensorDesc count = b.Constant("micro-batches", DType::kInt64, {});
  const TensorDesc share =
      b.out.Work("aten::div", Args(loss.tensor, count), b.out.New(DType::kFloat32, {}));
  return b.Record("DivBackward0", {loss}, share, [&b, count](const TensorDesc& gradient) {
    return Fresh(b.out.Work("aten::div", Args(gradient, count), b.out.New(DType::kFloat32, {})));
  });
}

}  // namespace reprise
