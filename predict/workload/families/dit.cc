// Diffusion transformers (Peebles, Xie 2023, arXiv 2212.09748): noised latent images in patches,
// conditioned on a time and a class by shifts, scales and gates of each layer (adaLN-Zero). The
// result is the noise and a variance of each number; the loss is of the noise.
#include <fmt/format.h>

#include <memory>
#include <utility>

#include "predict/workload/families/transformer.h"
#include "predict/workload/ops/model_operators.h"

namespace reprise {
namespace {

// Of the published code (facebookresearch/DiT, models.py).
constexpr std::int64_t kTimeFeatures = 256;
constexpr std::int64_t kResults = 2;  // of each number: noise and variance

// What all layers take beside the patches: (batch, hidden).
using Condition = std::shared_ptr<Var>;

// A matrix that every rank has whole, in 16 bits: its products have a row for each image.
WeightAndBias NewWhole(Unit& unit, const Workload& w, std::int64_t rows, std::int64_t columns) {
  WeightAndBias made = NewLinear(unit, w, rows, columns, Division::kWhole, true);
  made.weight->scaled = false;
  return made;
}

Var Applied(Builder& b, const Var& x, const WeightAndBias& linear) {
  return Linear(b, x, *linear.weight, linear.bias);
}

// Shifts, scales and gates, `parts` of them: each (batch, 1, hidden).
std::vector<Var> Modulations(Builder& b, const Var& condition, const WeightAndBias& linear,
                             std::int64_t parts) {
  const std::int64_t hidden = b.model().hidden;
  std::vector<Var> all =
      Split(b, Applied(b, Silu(b, condition), linear), std::vector(parts, hidden));
  for (Var& one : all) {
    one = View(b, one, {b.workload.micro_batch, 1, hidden});
  }
  return all;
}

Var Modulated(Builder& b, const Var& x, const Var& shift, const Var& scale) {
  return Add(b, Multiply(b, PlainLayerNorm(b, x), AddNumber(b, scale, 1)), shift);
}

// Latent images, times and classes.
class NoisedPatches final : public Unit {
 public:
  NoisedPatches(const Workload& w, Condition condition) : Unit("embedding") {
    const ModelShape& m = w.model;
    beside = std::move(condition);
    patches_.weight = NewParameter({m.hidden, m.channels, m.patch, m.patch});
    patches_.weight->copies = w.layout.tp;
    patches_.bias = NewParameter({m.hidden});
    time_in_ = NewWhole(*this, w, m.hidden, kTimeFeatures);
    time_out_ = NewWhole(*this, w, m.hidden, m.hidden);
    labels_ = NewParameter({m.classes + 1, m.hidden});  // one more: of no class
  }
  [[nodiscard]] Var Forward(Builder& b, const Var& /*none*/) override {
    const ModelShape& m = b.model();
    const std::int64_t batch = b.workload.micro_batch;
    const TensorDesc images = CopyToDevice(b, b.dtype(), {batch, m.channels, m.image, m.image});
    const Var patches = PatchConvolution(b, images, *patches_.weight, *patches_.bias);
    const Var rows =
        Transpose(b, View(b, patches, {batch, m.hidden, m.sequence}, "aten::flatten"), 1, 2);
    Var x =
        Add(b, rows, Var{.tensor = b.Constant("positions", b.dtype(), {1, m.sequence, m.hidden})});
    const Var time = Applied(b, Silu(b, Applied(b, Times(b, batch), time_in_)), time_out_);
    const TensorDesc classes = CopyToDevice(b, DType::kInt64, {batch});
    *beside = Add(b, time, Embedding(b, *labels_, classes));
    return x;
  }

 private:
  // Cosines and sines of the times, by frequency.
  [[nodiscard]] static Var Times(Builder& b, std::int64_t batch) {
    const std::int64_t half = kTimeFeatures / 2;
    const TensorDesc steps = CopyToDevice(b, DType::kInt64, {batch});
    const Var column = View(b, ToType(b, {.tensor = steps}, DType::kFloat32), {batch, 1});
    const Var frequencies{.tensor = b.Constant("frequencies", DType::kFloat32, {half})};
    const Var angles = Multiply(b, Expand(b, column, {batch, half}), frequencies);
    std::vector<Var> both;
    for (const char* const name : {"aten::cos", "aten::sin"}) {
      b.Op();
      both.push_back({.tensor = b.out.Work(name, Args(angles.tensor), b.NewLike(angles.tensor))});
    }
    return ToType(b, Concatenate(b, both, 1), b.dtype());
  }
  WeightAndBias patches_, time_in_, time_out_;
  Parameter* labels_;
};

class ModulatedLayer final : public Unit {
 public:
  ModulatedLayer(const Workload& w, std::int64_t number, Condition condition)
      : Unit(fmt::format("layers.{}", number), true),
        attention_(NewAttention(*this, w, number)),
        feed_forward_(NewFeedForward(*this, w, number)),
        modulation_(NewWhole(*this, w, kParts * w.model.hidden, w.model.hidden)) {
    layer = number;
    beside = std::move(condition);
  }
  [[nodiscard]] Var Forward(Builder& b, const Var& x) override {
    const std::vector<Var> by = Modulations(b, *beside, modulation_, kParts);
    const auto with = [&](const Var& stream, std::size_t first, LayerPart& part) {
      Var sum = part.Forward(b, Modulated(b, stream, by[first], by[first + 1]));
      if (Parameter* const bias = part.BiasLeft(b.workload); bias != nullptr) {
        sum = Add(b, sum, Var{.tensor = bias->value, .parameter = bias});
      }
      return Add(b, stream, Multiply(b, sum, by[first + 2]));
    };
    return with(with(x, 0, *attention_), 3, *feed_forward_);
  }

 private:
  static constexpr std::int64_t kParts = 6;  // shift, scale and gate of both parts
  std::unique_ptr<LayerPart> attention_, feed_forward_;
  WeightAndBias modulation_;
};

class NoiseHead final : public Unit {
 public:
  NoiseHead(const Workload& w, Condition condition) : Unit("head") {
    const ModelShape& m = w.model;
    beside = std::move(condition);
    modulation_ = NewWhole(*this, w, kParts * m.hidden, m.hidden);
    last_ = NewWhole(*this, w, m.patch * m.patch * m.channels * kResults, m.hidden);
  }
  [[nodiscard]] Var Forward(Builder& b, const Var& x) override {
    const ModelShape& m = b.model();
    const std::int64_t batch = b.workload.micro_batch;
    const std::int64_t side = m.image / m.patch;
    const std::int64_t channels = m.channels * kResults;
    const std::vector<Var> by = Modulations(b, *beside, modulation_, kParts);
    const Var patches = Applied(b, Modulated(b, x, by[0], by[1]), last_);
    const Var apart = View(b, patches, {batch, side, side, m.patch, m.patch, channels});
    const Var images = View(b, Contiguous(b, Permute(b, apart, {0, 5, 1, 3, 2, 4})),
                            {batch, channels, m.image, m.image}, "aten::reshape");
    const TensorDesc noise = CopyToDevice(b, b.dtype(), {batch, m.channels, m.image, m.image});
    return ShareOfLoss(b, MeanSquaredError(b, Slice(b, images, 1, 0, m.channels), noise));
  }

 private:
  static constexpr std::int64_t kParts = 2;  // shift and scale
  WeightAndBias modulation_, last_;
};

void CompleteDit(Workload& w) {
  CompleteTransformer(w);
  ModelShape& m = w.model;
  if (m.patch > 0) {
    m.sequence = m.image / m.patch * (m.image / m.patch);
  }
}

Status CheckDit(const Workload& w) {
  REPRISE_TRY(CheckPatches(w));
  if (w.layout.pp > 1) {
    return BadInput(
        "a diffusion transformer has no pipeline (\"pp\"): every layer takes the conditions that "
        "the first stage computes");
  }
  if (w.layers_only) {
    return BadInput("a diffusion transformer's layers do not run alone: they take its conditions");
  }
  if (w.model.experts > 0) {
    return BadInput("a diffusion transformer with \"experts\" is not known");
  }
  if (w.model.dropout > 0 || w.model.rms_norm) {
    return BadInput("a diffusion transformer with \"dropout\" or \"rms_norm\" is not known");
  }
  return CheckTransformer(w);
}

Units DitUnits(const Workload& w, const ModelPart& part, const Place& /*place*/) {
  const auto condition = std::make_shared<Var>();
  Units units;
  units.push_back(std::make_unique<NoisedPatches>(w, condition));
  for (std::int64_t i = 0; i < part.layers; ++i) {
    units.push_back(std::make_unique<ModulatedLayer>(w, part.first_layer + i, condition));
  }
  units.push_back(std::make_unique<NoiseHead>(w, condition));
  return units;
}

}  // namespace

ModelFamily DitFamily() {
  return {
      .name = "dit",
      .set_defaults =
          [](ModelShape& m) {
            m.causal = m.tied_embeddings = false;
            m.batch_first = true;
            m.channels = 4;  // of the autoencoder's latent images
          },
      .complete = CompleteDit,
      .check = CheckDit,
      .units = DitUnits,
      .hidden_shape =
          [](const Workload& w) { return ActivationShape(w, w.model.sequence, w.model.hidden); },
      .variant = [](const Workload&, const Place&) { return std::int64_t{0}; }};
}

}  // namespace reprise
