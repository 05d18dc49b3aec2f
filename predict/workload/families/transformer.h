// What families of transformers share: embedding, layer, head, their rules.
#pragma once

#include <memory>
#include <vector>

#include "predict/workload/families/family.h"
#include "predict/workload/families/layer_parts.h"

namespace reprise {

// Sequence length of one rank's activations outside and inside tensor-parallel layers.
[[nodiscard]] std::int64_t OuterSequence(const Workload& workload);
[[nodiscard]] std::int64_t InnerSequence(const Workload& workload);
// (sequence, batch, width), or (batch, sequence, width) where the model is batch first.
[[nodiscard]] std::vector<std::int64_t> ActivationShape(const Workload& workload,
                                                        std::int64_t sequence, std::int64_t width);

class TransformerLayer : public Unit {
 public:
  TransformerLayer(const Workload& workload, std::int64_t number);
  [[nodiscard]] Var Forward(Builder& b, const Var& x) override { return body_.Forward(b, x); }

 private:
  LayerBody body_;
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
  WeightAndBias norm_;  // if the model has one
};

class LanguageHead final : public Unit {
 public:
  // `embedding`: the embedding's weight, if it is on the same rank and the head has a use for it.
  LanguageHead(const Workload& workload, Parameter* embedding);
  ~LanguageHead() override;
  LanguageHead(const LanguageHead&) = delete;
  LanguageHead& operator=(const LanguageHead&) = delete;
  [[nodiscard]] Var Forward(Builder& b, const Var& x) override;

 private:
  struct NextToken;
  [[nodiscard]] Var Loss(Builder& b, const Var& x, const WeightAndBias& norm);

  WeightAndBias norm_;
  Parameter* embedding_;  // null: neither tied nor used to predict more
  Parameter* weight_;
  std::vector<std::unique_ptr<NextToken>> more_;
};

// One a layer of the part.
void AddLayers(const Workload& workload, const ModelPart& part, Units& units);
void CompleteTransformer(Workload& workload);
[[nodiscard]] Status CheckTransformer(const Workload& workload);
// Of models of images: patches divide them, and there is no context parallelism.
[[nodiscard]] Status CheckPatches(const Workload& workload);
// The loss of a micro-batch as a share of the step's.
[[nodiscard]] Var ShareOfLoss(Builder& b, const Var& loss);
// Copies a micro-batch's integers or images to the device.
[[nodiscard]] TensorDesc CopyToDevice(Builder& b, DType dtype, std::vector<std::int64_t> shape);

}  // namespace reprise
