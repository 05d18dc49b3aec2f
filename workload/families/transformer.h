// What families of transformers share: embedding, layer, head, their rules.
#pragma once

#include <memory>
#include <vector>

#include "workload/families/family.h"
#include "workload/parallel/expert.h"

namespace reprise {

// Sequence length of one rank's activations outside and inside tensor-parallel layers.
[[nodiscard]] std::int64_t OuterSequence(const Workload& workload);
[[nodiscard]] std::int64_t InnerSequence(const Workload& workload);
// (sequence, batch, width), or (batch, sequence, width) where the model is batch first.
[[nodiscard]] std::vector<std::int64_t> ActivationShape(const Workload& workload,
                                                        std::int64_t sequence, std::int64_t width);

// A norm of the family's kind.
struct NormWeights {
  Parameter* weight = nullptr;
  Parameter* bias = nullptr;  // null: RMS norm
};
[[nodiscard]] Var Norm(Builder& b, const Var& x, const NormWeights& weights);

class TransformerLayer : public Unit {
 public:
  TransformerLayer(const Workload& workload, std::int64_t layer);
  [[nodiscard]] Var Forward(Builder& b, const Var& x) override;

 private:
  [[nodiscard]] Var Attention(Builder& b, const Var& x);
  [[nodiscard]] Var CoreAttention(Builder& b, const Var& q, const Var& k, const Var& v);
  [[nodiscard]] Var FeedForwardBlock(Builder& b, const Var& x);
  [[nodiscard]] Var Branch(Builder& b, const Var& x, const Var& branch, Parameter* bias);

  NormWeights norm1_, norm2_;
  Parameter* qkv_ = nullptr;  // or these three
  Parameter* qkv_bias_ = nullptr;
  Parameter *q_ = nullptr, *q_bias_ = nullptr, *k_ = nullptr, *k_bias_ = nullptr, *v_ = nullptr,
            *v_bias_ = nullptr;
  Parameter *out_ = nullptr, *out_bias_ = nullptr;
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
  Parameter* tokens_ = nullptr;
  Parameter* positions_ = nullptr;
};

class LanguageHead final : public Unit {
 public:
  // `shared`: the embedding's weight, if it is on the same rank.
  LanguageHead(const Workload& workload, Parameter* shared);
  [[nodiscard]] Var Forward(Builder& b, const Var& x) override;

 private:
  NormWeights norm_;
  Parameter* weight_;
};

void CompleteTransformer(ModelShape& model);
[[nodiscard]] Status CheckTransformer(const Workload& workload);
// Embedding, layers and head of a language model.
[[nodiscard]] std::vector<std::unique_ptr<Unit>> LanguageUnits(const Workload& workload,
                                                               const ModelPart& part);
// The loss of a micro-batch as a share of the step's.
[[nodiscard]] Var ShareOfLoss(Builder& b, const Var& loss);
// Copies a micro-batch's integers or images to the device.
[[nodiscard]] TensorDesc CopyToDevice(Builder& b, const char* what, DType dtype,
                                      std::vector<std::int64_t> shape);

// Families of language models: they differ in norms, biases, positions and feed-forward.
class LanguageFamily : public ModelFamily {
 public:
  void Complete(Workload& workload) const override;
  [[nodiscard]] Status Check(const Workload& workload) const override;
  [[nodiscard]] std::vector<std::unique_ptr<Unit>> Units(const Workload& workload,
                                                         const ModelPart& part,
                                                         const Place& place) const override;
  [[nodiscard]] std::vector<std::int64_t> HiddenShape(const Workload& workload) const override;
  // Ring neighbours stand at other positions; uneven experts get other numbers of tokens.
  [[nodiscard]] std::int64_t Variant(const Workload& workload, const Place& place) const override;
};

}  // namespace reprise
