// Feed-forward blocks: dense, or a router with experts, and what every token takes beside them.
#include <array>

#include "predict/workload/families/layer_parts.h"
#include "predict/workload/ops/model_operators.h"
#include "predict/workload/parallel/adapters.h"
#include "predict/workload/parallel/tensor.h"

namespace reprise {
namespace {

// Up, and gate, to `own` numbers of this rank; down.
ExpertWeights NewBlock(Unit& unit, const Workload& w, std::int64_t own) {
  const ModelShape& m = w.model;
  const bool bias = m.ffn_bias.value_or(m.bias);
  return {NewLinear(unit, w, own * (m.gated_ffn ? 2 : 1), m.hidden, Division::kColumns, bias),
          NewLinear(unit, w, m.hidden, own, Division::kRows, bias)};
}

class DenseBlock final : public LayerPart {
 public:
  DenseBlock(Unit& unit, const Workload& w)
      : weights_(NewBlock(
            unit, w, (w.model.dense_ffn > 0 ? w.model.dense_ffn : w.model.ffn) / w.layout.tp)) {
    const std::int64_t hidden = w.model.hidden;
    const std::int64_t rows = weights_.up.weight->shape[0];
    const auto of_columns = [&](std::string_view target, std::int64_t outputs) {
      return NewAdapter(unit, w, target, outputs, hidden, Division::kColumns);
    };
    weights_.up.adapter = of_columns(kLoraFc1, rows);
    halves_[0] = of_columns(kLoraGate, rows / 2);
    halves_[1] = of_columns(kLoraUp, rows / 2);
    weights_.down.adapter =
        NewAdapter(unit, w, kLoraFc2, hidden, weights_.down.weight->shape[1], Division::kRows);
  }
  [[nodiscard]] Var Forward(Builder& b, const Var& x) override {
    return ComputeModule(b, kDenseBlock, {x}, [&b, this](const std::vector<Var>& in) {
      const Var n = EnterTensorParallel(b, in[0], true);
      const Var up = WithColumnAdapter(b, Linear(b, n, *weights_.up.weight, weights_.up.bias, true),
                                       in[0], n, weights_.up.adapter);
      return LastLinear(b, Activated(b, up, in[0], n), weights_.down);
    });
  }
  [[nodiscard]] Parameter* BiasLeft(const Workload& w) const override {
    return w.layout.tp > 1 ? weights_.down.bias : nullptr;
  }

 private:
  [[nodiscard]] Var Activated(Builder& b, const Var& up, const Var& x, const Var& n) const {
    if (halves_[0].down == nullptr && halves_[1].down == nullptr) {
      return Activation(b, up);
    }
    const std::int64_t half = up.shape().back() / 2;
    const std::vector<Var> parts = Split(b, up, {half, half});
    return GatedActivation(b, WithColumnAdapter(b, parts[0], x, n, halves_[0]),
                           WithColumnAdapter(b, parts[1], x, n, halves_[1]));
  }

  ExpertWeights weights_;
  std::array<LoraAdapter, 2> halves_;  // of a gated block's up, if they have their own
};

class ExpertBlock final : public LayerPart {
 public:
  ExpertBlock(Unit& unit, const Workload& w) {
    const ModelShape& m = w.model;
    router_.weight = NewOfRouter(unit, w, {m.experts, m.hidden});
    if (m.router_bias) {
      router_.bias = NewOfRouter(unit, w, {m.experts});
    }
    const std::int64_t local = m.experts / w.layout.ep;
    const std::int64_t ranks = w.layout.etp > 0 ? w.layout.etp : w.layout.tp;
    for (std::int64_t i = 0; i < (m.grouped_experts ? 1 : local); ++i) {
      const ExpertWeights& made = experts_.emplace_back(NewBlock(unit, w, m.ffn / ranks));
      for (Parameter* one : {made.up.weight, made.up.bias, made.down.weight, made.down.bias}) {
        if (one != nullptr) {
          one->expert = w.layout.experts_apart();
          one->tp_sum = false;
          one->parts = one == made.down.bias ? 1 : ranks;
          if (m.grouped_experts) {
            one->shape.insert(one->shape.begin(), local);
          }
        }
      }
    }
    if (m.shared_ffn > 0) {
      shared_ = NewBlock(unit, w, m.shared_ffn / w.layout.tp);
      if (m.shared_gate) {
        shared_gate_ = NewOfRouter(unit, w, {1, m.hidden});
      }
    }
  }

  [[nodiscard]] Var Forward(Builder& b, const Var& x) override {
    return ComputeModule(b, kExpertBlock, {x},
                         [&b, this](const std::vector<Var>& in) { return Compute(b, in[0]); });
  }
  // Each expert adds its own bias.
  [[nodiscard]] Parameter* BiasLeft(const Workload& /*w*/) const override { return nullptr; }

 private:
  [[nodiscard]] Var Compute(Builder& b, const Var& x) {
    if (b.layout().etp > 0) {
      return ComputeOwnTokens(b, x);
    }
    const Var n = EnterTensorParallel(b, x);
    const std::vector<std::int64_t> shape = n.shape();
    const Var rows = View(b, n, {n.tensor.elements / shape.back(), shape.back()});
    Var out = RouteThroughExperts(b, rows, router_, experts_);
    if (shared_.up.weight != nullptr) {
      out = Add(b, out, ComputeModule(b, kSharedExperts, {rows}, [&b, this](const auto& in) {
                  return Shared(b, in[0]);
                }));
    }
    return LeaveTensorParallel(b, View(b, out, shape));
  }
  // Each rank has it whole, and computes a part of its gradient.
  static Parameter* NewOfRouter(Unit& unit, const Workload& w, std::vector<std::int64_t> shape) {
    Parameter* const made = unit.NewParameter(std::move(shape));
    made->tp_sum = w.layout.tp > 1;
    made->copies = w.layout.etp > 0 ? 1 : w.layout.tp;
    return made;
  }
  // Each rank sends its own tokens to the experts; what every token takes is divided as dense
  // layers are.
  [[nodiscard]] Var ComputeOwnTokens(Builder& b, const Var& x) {
    const std::vector<std::int64_t> shape = x.shape();
    const Var rows = View(b, x, {x.tensor.elements / shape.back(), shape.back()});
    Var out = RouteThroughExperts(b, rows, router_, experts_);
    if (shared_.up.weight != nullptr) {
      Var all = ComputeModule(b, kSharedExperts, {x}, [&b, this](const std::vector<Var>& in) {
        const Var n = EnterTensorParallel(b, in[0], true);
        return LastLinear(b, UpAndActivation(b, n, shared_), shared_.down);
      });
      all = View(b, all, rows.shape());
      if (shared_gate_ != nullptr) {
        all = Multiply(b, all, Sigmoid(b, Linear(b, rows, *shared_gate_, nullptr)));
      }
      out = Add(b, out, all);
    }
    return View(b, out, shape);
  }
  [[nodiscard]] Var Shared(Builder& b, const Var& rows) {
    const Var out =
        Linear(b, UpAndActivation(b, rows, shared_), *shared_.down.weight, shared_.down.bias);
    return shared_gate_ == nullptr
               ? out
               : Multiply(b, out, Sigmoid(b, Linear(b, rows, *shared_gate_, nullptr)));
  }

  WeightAndBias router_;
  std::vector<ExpertWeights> experts_;  // this rank's; grouped: one for all of them
  ExpertWeights shared_;
  Parameter* shared_gate_ = nullptr;
};

}  // namespace

std::unique_ptr<LayerPart> NewFeedForward(Unit& unit, const Workload& w, std::int64_t number) {
  if (w.model.HasExperts(number)) {
    return std::make_unique<ExpertBlock>(unit, w);
  }
  return std::make_unique<DenseBlock>(unit, w);
}

}  // namespace reprise
