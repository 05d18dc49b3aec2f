// What families of transformers share: embedding, layer, head, their rules.
#pragma once

#include <memory>
#include <vector>

#include "predict/workload/families/family.h"
#include "predict/workload/parallel/expert.h"

namespace reprise {

// Sequence length of one rank's activations outside and inside tensor-parallel layers.
[[nodiscard]] std::int64_t OuterSequence(const Workload& workload);
[[nodiscard]] std::int64_t InnerSequence(const Workload& workload);
// (sequence, batch, width), or (batch, sequence, width) where the model is batch first.
[[nodiscard]] std::vector<std::int64_t> ActivationShape(const Workload& workload,
                                                        std::int64_t sequence, std::int64_t width);

// A norm of the family's kind; without a bias: RMS norm.
[[nodiscard]] WeightAndBias NewNorm(Unit& unit, const Workload& workload);
[[nodiscard]] Var Norm(Builder& b, const Var& x, const WeightAndBias& norm);

class TransformerLayer : public Unit {
 public:
  TransformerLayer(const Workload& workload, std::int64_t layer);
  [[nodiscard]] Var Forward(Builder& b, const Var& x) override;

 private:
  [[nodiscard]] Var Attention(Builder& b, const Var& x);
  [[nodiscard]] Var CoreAttention(Builder& b, const Var& q, const Var& k, const Var& v);
  [[nodiscard]] Var FeedForwardBlock(Builder& b, const Var& x);
  [[nodiscard]] Var Branch(Builder& b, const Var& x, const Var& branch, Parameter* bias);

  WeightAndBias norm1_, norm2_;
  WeightAndBias qkv_, q_, k_, v_;  // fused, or apart
  WeightAndBias out_;
  Parameter* router_ = nullptr;
  std::vector<ExpertWeights> ffn_;  // one, or this rank's experts
};

// Token and position embedding of language models, and their head.
class TokenEmbedding final : public Unit {
 public:
  explicit TokenEmbedding(const Workload& workload);
  [[nodiscard]] Var Forward(Builder& b, const Var& none) override;
  [[nodiscard]] Parameter* tokens() { return tokens_; }

 private:
  Parameter* tokens_;
  Parameter* positions_ = nullptr;
};

class LanguageHead final : public Unit {
 public:
  // `shared`: the embedding's weight, if it is on the same rank.
  LanguageHead(const Workload& workload, Parameter* shared);
  [[nodiscard]] Var Forward(Builder& b, const Var& x) override;

 private:
  WeightAndBias norm_;
  Parameter* weight_;
};

// One a layer of the part.
void AddLayers(const Workload& workload, const ModelPart& part, Units& units);
void CompleteTransformer(Workload& workload);
[[nodiscard]] Status CheckTransformer(const Workload& workload);
// The loss of a micro-batch as a share of the step's.
[[nodiscard]] Var ShareOfLoss(Builder& b, const Var& loss);
// Copies a micro-batch's integers or images to the device.
[[nodiscard]] TensorDesc CopyToDevice(Builder& b, DType dtype, std::vector<std::int64_t> shape);

}  // namespace reprise
