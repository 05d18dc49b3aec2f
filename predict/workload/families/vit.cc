// Vision transformers (Dosovitskiy et al. 2021, arXiv 2010.11929): patches in place of tokens, a
// class token, attention in both directions.
#include "predict/workload/families/transformer.h"
#include "predict/workload/ops/model_operators.h"

namespace reprise {
namespace {

// Images to (batch, patches + 1, hidden).
class PatchEmbedding final : public Unit {
 public:
  explicit PatchEmbedding(const Workload& w) : Unit("embedding") {
    const ModelShape& m = w.model;
    weight_ = NewParameter({m.hidden, m.channels, m.patch, m.patch});
    weight_->copies = w.layout.tp;
    bias_ = NewParameter({m.hidden});
    token_ = NewParameter({1, 1, m.hidden});
    positions_ = NewParameter({1, m.sequence, m.hidden});
  }
  [[nodiscard]] Var Forward(Builder& b, const Var& /*none*/) override {
    const ModelShape& m = b.model();
    const std::int64_t batch = b.workload.micro_batch;
    const TensorDesc images = CopyToDevice(b, b.dtype(), {batch, m.channels, m.image, m.image});
    const Var patches = PatchConvolution(b, images, *weight_, *bias_);
    const Var rows =
        Transpose(b, View(b, patches, {batch, m.hidden, m.sequence - 1}, "aten::flatten"), 1, 2);
    Var x = Concatenate(b, {Repeated(b, batch), rows}, 1);
    x = Add(b, x, Var{.tensor = positions_->value, .parameter = positions_});
    return Dropout(b, x, m.dropout);
  }

 private:
  // The class token once for each image.
  [[nodiscard]] Var Repeated(Builder& b, std::int64_t batch) {
    b.Op();
    const std::int64_t hidden = b.model().hidden;
    const TensorDesc& token = token_->value;
    const TensorDesc spread =
        b.out.Host("aten::expand", Args(token, Ints{batch, -1, -1}, false),
                   b.out.Alias(token, {batch, 1, hidden}, {0, hidden, 1}, token.offset));
    return b.Record("ExpandBackward0", {Var{.parameter = token_}}, spread,
                    [&b, hidden](const TensorDesc& gradient) {
                      const TensorDesc sum = b.out.New(gradient.dtype, {1, 1, hidden});
                      b.out.Work("aten::sum", Args(gradient, Ints{0}, true, kNoValue), Args(sum));
                      return Fresh(sum);
                    });
  }
  Parameter *weight_, *bias_, *token_, *positions_;
};

class ClassHead final : public Unit {
 public:
  explicit ClassHead(const Workload& w) : Unit("head") {
    const ModelShape& m = w.model;
    norm_.weight = NewParameter({m.hidden});
    norm_.bias = NewParameter({m.hidden});
    weight_ = NewParameter({m.classes, m.hidden});
    weight_->copies = w.layout.tp;
    bias_ = NewParameter({m.classes});
  }
  [[nodiscard]] Var Forward(Builder& b, const Var& x) override {
    const ModelShape& m = b.model();
    const std::int64_t batch = b.workload.micro_batch;
    const Var first = Slice(b, Norm(b, x, norm_), 1, 0, 1);
    const Var token = View(b, Contiguous(b, first), {batch, m.hidden});
    const Var logits = Linear(b, token, *weight_, bias_);
    const TensorDesc labels = CopyToDevice(b, DType::kInt64, {batch});
    return ShareOfLoss(b, CrossEntropy(b, logits, labels));
  }

 private:
  WeightAndBias norm_;
  Parameter *weight_, *bias_;
};

void CompleteVit(Workload& w) {
  CompleteTransformer(w);
  ModelShape& m = w.model;
  if (m.patch > 0) {
    m.sequence = m.image / m.patch * (m.image / m.patch) + 1;
  }
}

Status CheckVit(const Workload& w) {
  REPRISE_TRY(CheckPatches(w));
  return CheckTransformer(w);
}

Units VitUnits(const Workload& w, const ModelPart& part, const Place& /*place*/) {
  Units units;
  if (part.first && !w.layers_only) {
    units.push_back(std::make_unique<PatchEmbedding>(w));
  }
  AddLayers(w, part, units);
  if (part.last && !w.layers_only) {
    units.push_back(std::make_unique<ClassHead>(w));
  }
  return units;
}

}  // namespace

ModelFamily VitFamily() {
  return {
      .name = "vit",
      .set_defaults =
          [](ModelShape& m) {
            m.causal = m.tied_embeddings = false;
            m.batch_first = true;
          },
      .complete = CompleteVit,
      .check = CheckVit,
      .units = VitUnits,
      .hidden_shape =
          [](const Workload& w) { return ActivationShape(w, w.model.sequence, w.model.hidden); },
      .variant = [](const Workload&, const Place&) { return std::int64_t{0}; }};
}

}  // namespace reprise
