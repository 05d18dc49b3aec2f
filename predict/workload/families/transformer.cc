#include "predict/workload/families/transformer.h"

#include <fmt/format.h>

#include <algorithm>

#include "predict/workload/ops/model_operators.h"
#include "predict/workload/parallel/tensor.h"

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

TransformerLayer::TransformerLayer(const Workload& w, std::int64_t number)
    : Unit(fmt::format("layers.{}", number), true), body_(*this, w, number) {
  layer = number;
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
  tokens_->tied = w.model.EmbeddingAtBothEnds() && !w.EndsOnOneStage();
  if (!w.model.rotary && !w.model.alibi) {
    positions_ = NewParameter({std::max(w.model.positions, w.model.sequence), w.model.hidden});
    positions_->tp_sum = w.layout.sequence_parallel;
  }
  if (w.model.embedding_norm) {
    norm_ = NewNorm(*this, w, w.model.hidden);
  }
}

namespace {

// The rows of the ids of a micro-batch, as divided as hidden states are.
Var EmbedTokens(Builder& b, Parameter& tokens) {
  const Workload& w = b.workload;
  const bool divided = tokens.shape[0] != w.model.vocab;
  std::vector<std::int64_t> shape =
      ActivationShape(w, divided ? InnerSequence(w) : OuterSequence(w), 0);
  shape.pop_back();
  const TensorDesc ids = CopyToDevice(b, DType::kInt64, shape);
  return divided ? LeaveTensorParallel(b, VocabParallelEmbedding(b, tokens, ids))
                 : Embedding(b, tokens, ids);
}

}  // namespace

Var TokenEmbedding::Forward(Builder& b, const Var& /*none*/) {
  const Workload& w = b.workload;
  const std::int64_t outer = OuterSequence(w);
  Var x = EmbedTokens(b, *tokens_);
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
  if (norm_.weight != nullptr) {
    x = Norm(b, x, norm_);
  }
  return Dropout(b, x, w.model.dropout);
}

// Predicts the token behind the next one (DeepSeek-V3, arXiv 2412.19437, section 2.2): the hidden
// states and the next token's embedding through one more layer. It has the embedding and the head
// of the model.
struct LanguageHead::NextToken {
  NextToken(Unit& unit, const Workload& w, std::int64_t number)
      : of_hidden(NewNorm(unit, w, w.model.hidden)),
        of_tokens(NewNorm(unit, w, w.model.hidden)),
        join(NewLinear(unit, w, w.model.hidden, 2 * w.model.hidden, Division::kWhole, false)),
        layer(unit, w, number),
        last(NewNorm(unit, w, w.model.hidden)) {}

  // The hidden states behind the layer.
  [[nodiscard]] Var Forward(Builder& b, const Var& x, Parameter& tokens) {
    const Var next = Norm(b, EmbedTokens(b, tokens), of_tokens);
    const Var both = Concatenate(b, {next, Norm(b, x, of_hidden)}, 2);
    return layer.Forward(b, Linear(b, both, *join.weight, nullptr));
  }

  WeightAndBias of_hidden, of_tokens, join;
  LayerBody layer;
  WeightAndBias last;
};

LanguageHead::LanguageHead(const Workload& w, Parameter* embedding)
    : Unit("head"), norm_(NewNorm(*this, w, w.model.hidden)), embedding_(embedding) {
  if (embedding == nullptr && w.model.EmbeddingAtBothEnds()) {
    embedding_ = NewVocabulary(*this, w);
    embedding_->tied = true;
  }
  weight_ = w.model.tied_embeddings ? embedding_ : NewVocabulary(*this, w);
  const bool whole = weight_->shape[0] == w.model.vocab;
  weight_->copies = whole && !w.layout.sequence_parallel ? w.layout.tp : 1;
  for (std::int64_t i = 0; i < w.model.mtp_layers; ++i) {
    more_.push_back(std::make_unique<NextToken>(*this, w, w.model.layers + i));
  }
}
LanguageHead::~LanguageHead() = default;

Var LanguageHead::Loss(Builder& b, const Var& x, const WeightAndBias& norm) {
  const Workload& w = b.workload;
  const bool divided = weight_->shape[0] != w.model.vocab;
  Var n = Norm(b, x, norm);
  if (divided) {
    n = EnterTensorParallel(b, n, true);
  }
  const Var logits = Linear(b, n, *weight_, nullptr, true);
  const std::int64_t rows = n.tensor.elements / w.model.hidden;
  const Var flat = View(b, logits, {rows, weight_->shape[0]}, "aten::flatten");
  const TensorDesc labels = CopyToDevice(b, DType::kInt64, {rows});
  return divided ? VocabParallelCrossEntropy(b, flat, labels) : CrossEntropy(b, flat, labels);
}

Var LanguageHead::Forward(Builder& b, const Var& x) {
  Var loss = Loss(b, x, norm_);
  Var hidden = x;
  for (const auto& next : more_) {
    hidden = next->Forward(b, hidden, *embedding_);
    constexpr double kWeight = 0.3;  // arXiv 2412.19437, section 4.2
    loss = Add(b, loss, MultiplyNumber(b, Loss(b, hidden, next->last), kWeight));
  }
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
