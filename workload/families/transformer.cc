#include "workload/families/transformer.h"

#include <fmt/format.h>

#include "workload/ops/model_operators.h"
#include "workload/parallel/context.h"
#include "workload/parallel/tensor.h"
#include "workload/routing.h"

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

Var Norm(Builder& b, const Var& x, const NormWeights& weights) {
  return weights.bias == nullptr ? RmsNorm(b, x, *weights.weight)
                                 : LayerNorm(b, x, *weights.weight, *weights.bias);
}

TransformerLayer::TransformerLayer(const Workload& w, std::int64_t number)
    : Unit(fmt::format("layers.{}", number), true) {
  layer = number;
  const ModelShape& m = w.model;
  const std::int64_t t = w.layout.tp;
  const std::int64_t hidden = m.hidden;
  const std::int64_t queries = m.heads * m.head_size / t;
  const std::int64_t keys = m.kv_heads * m.head_size / t;
  const bool partial = t > 1 && w.layout.sequence_parallel;
  const auto norm = [&](const char* name) {
    NormWeights weights;
    weights.weight = NewParameter(fmt::format("{}.weight", name), {hidden});
    weights.weight->tp_sum = partial;
    if (!m.rms_norm) {
      weights.bias = NewParameter(fmt::format("{}.bias", name), {hidden});
      weights.bias->tp_sum = partial;
    }
    return weights;
  };
  const auto bias = [&](const char* name, std::int64_t size, bool whole = false) -> Parameter* {
    if (!m.bias) {
      return nullptr;
    }
    Parameter* parameter = NewParameter(name, {size});
    parameter->tp_sum = whole && partial;
    return parameter;
  };
  norm1_ = norm("norm1");
  if (m.fused_qkv) {
    qkv_ = NewParameter("attention.qkv.weight", {queries + 2 * keys, hidden}, true);
    qkv_bias_ = bias("attention.qkv.bias", queries + 2 * keys);
  } else {
    q_ = NewParameter("attention.q.weight", {queries, hidden}, true);
    q_bias_ = bias("attention.q.bias", queries);
    k_ = NewParameter("attention.k.weight", {keys, hidden}, true);
    k_bias_ = bias("attention.k.bias", keys);
    v_ = NewParameter("attention.v.weight", {keys, hidden}, true);
    v_bias_ = bias("attention.v.bias", keys);
  }
  for (Parameter* one : {qkv_, qkv_bias_, q_, q_bias_, k_, k_bias_, v_, v_bias_}) {
    if (one != nullptr) {
      one->parts = t;
    }
  }
  out_ = NewParameter("attention.out.weight", {hidden, queries}, true);
  out_->parts = t;
  out_bias_ = bias("attention.out.bias", hidden, true);
  norm2_ = norm("norm2");
  if (m.experts > 0) {
    router_ = NewParameter("router.weight", {m.experts, hidden}, true);
    router_->tp_sum = t > 1;
    router_->copies = t;
  }
  const std::int64_t experts = m.experts > 0 ? m.experts / w.layout.ep : 1;
  for (std::int64_t i = 0; i < experts; ++i) {
    const bool expert = m.experts > 0;
    ExpertWeights weights;
    weights.up = NewParameter(fmt::format("ffn.{}.up.weight", i),
                              {m.ffn / t * (m.gated_ffn ? 2 : 1), hidden}, true);
    weights.up_bias = bias("ffn.up.bias", m.ffn / t * (m.gated_ffn ? 2 : 1));
    weights.down = NewParameter(fmt::format("ffn.{}.down.weight", i), {hidden, m.ffn / t}, true);
    weights.down_bias = bias("ffn.down.bias", hidden, !expert);
    weights.up->parts = weights.down->parts = t;
    if (weights.up_bias != nullptr) {
      weights.up_bias->parts = t;
    }
    for (Parameter* one : {weights.up, weights.up_bias, weights.down, weights.down_bias}) {
      if (one != nullptr) {
        one->expert = expert && w.layout.ep > 1;
      }
    }
    ffn_.push_back(weights);
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
  if (qkv_ != nullptr) {
    const std::int64_t keys = m.kv_heads / t * size;
    qkv = Split(b, Linear(b, n, *qkv_, qkv_bias_, true), {m.heads / t * size, keys, keys});
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
  const auto project = [&](std::size_t i, Parameter* weight, Parameter* bias) {
    return qkv_ != nullptr ? qkv[i] : Linear(b, n, *weight, bias, true);
  };
  const Var q = heads_first(project(0, q_, q_bias_), m.heads / t, true);
  const Var k = heads_first(project(1, k_, k_bias_), m.kv_heads / t, true);
  const Var v = heads_first(project(2, v_, v_bias_), m.kv_heads / t, false);
  Var out = CoreAttention(b, q, k, v);
  out = m.batch_first ? Transpose(b, out, 1, 2) : Permute(b, out, {2, 0, 1, 3});
  out = Contiguous(b, out);
  std::vector<std::int64_t> shape(out.shape().begin(), out.shape().end() - 2);
  shape.push_back(m.heads / t * size);
  out = View(b, out, shape, "aten::reshape");
  return t == 1 ? Linear(b, out, *out_, out_bias_) : LinearAndLeave(b, out, *out_);
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
  return t == 1 ? Linear(b, up, *weights.down, weights.down_bias)
                : LinearAndLeave(b, up, *weights.down);
}

Var TransformerLayer::Forward(Builder& b, const Var& x) {
  const bool apart = b.layout().tp > 1;
  const Var middle = Branch(b, x, Attention(b, x), apart ? out_bias_ : nullptr);
  return Branch(b, middle, FeedForwardBlock(b, middle),
                apart && router_ == nullptr ? ffn_[0].down_bias : nullptr);
}

TensorDesc CopyToDevice(Builder& b, const char* what, DType dtype,
                        std::vector<std::int64_t> shape) {
  TensorDesc tensor = b.out.New(dtype, shape, StorageUse::kInput);
  if (b.out.cuda()) {
    b.Op("aten::to");
    const TensorDesc source = b.out.NewOnHost(dtype, std::move(shape));
    b.out.InPlace("aten::copy_", tensor, source, true);
  }
  (void)what;
  return tensor;
}

TokenEmbedding::TokenEmbedding(const Workload& w) : Unit("embedding") {
  const ModelShape& m = w.model;
  const bool divided = w.layout.vocab_parallel && w.layout.tp > 1;
  const bool partial = w.layout.tp > 1 && w.layout.sequence_parallel;
  tokens_ = NewParameter("embedding.weight", {divided ? m.vocab / w.layout.tp : m.vocab, m.hidden});
  tokens_->tp_sum = partial && !divided;
  tokens_->parts = divided ? w.layout.tp : 1;
  tokens_->tied = m.tied_embeddings && w.layout.pp > 1;
  if (!m.rotary) {
    positions_ = NewParameter("positions.weight", {m.sequence, m.hidden});
    positions_->tp_sum = partial;
  }
}

Var TokenEmbedding::Forward(Builder& b, const Var& /*none*/) {
  const Workload& w = b.workload;
  const bool divided = tokens_->shape[0] != w.model.vocab;
  const std::int64_t outer = OuterSequence(w);
  std::vector<std::int64_t> shape = ActivationShape(w, divided ? InnerSequence(w) : outer, 0);
  shape.pop_back();
  const TensorDesc ids = CopyToDevice(b, "tokens", DType::kInt64, shape);
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

LanguageHead::LanguageHead(const Workload& w, Parameter* shared) : Unit("head") {
  const ModelShape& m = w.model;
  const bool partial = w.layout.tp > 1 && w.layout.sequence_parallel;
  norm_.weight = NewParameter("norm.weight", {m.hidden});
  norm_.weight->tp_sum = partial;
  if (!m.rms_norm) {
    norm_.bias = NewParameter("norm.bias", {m.hidden});
    norm_.bias->tp_sum = partial;
  }
  weight_ = shared;
  if (shared == nullptr) {
    const bool divided = w.layout.vocab_parallel && w.layout.tp > 1;
    weight_ =
        NewParameter("head.weight", {divided ? m.vocab / w.layout.tp : m.vocab, m.hidden}, true);
    weight_->tp_sum = partial && !divided;
    weight_->parts = divided ? w.layout.tp : 1;
    weight_->tied = m.tied_embeddings;
  }
  weight_->copies = weight_->shape[0] == m.vocab && !partial ? w.layout.tp : 1;
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
  const TensorDesc labels = CopyToDevice(b, "labels", DType::kInt64, {rows});
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

std::vector<std::unique_ptr<Unit>> LanguageUnits(const Workload& w, const ModelPart& part) {
  std::vector<std::unique_ptr<Unit>> units;
  Parameter* shared = nullptr;
  if (part.first && !w.layers_only) {
    auto embedding = std::make_unique<TokenEmbedding>(w);
    if (w.model.tied_embeddings && w.layout.pp == 1) {
      shared = embedding->tokens();
    }
    units.push_back(std::move(embedding));
  }
  for (std::int64_t i = 0; i < part.layers; ++i) {
    units.push_back(std::make_unique<TransformerLayer>(w, part.first_layer + i));
  }
  if (part.last && !w.layers_only) {
    units.push_back(std::make_unique<LanguageHead>(w, shared));
  }
  return units;
}

}  // namespace reprise
