// Feed-forward blocks: dense, or a router with experts, and what every token takes beside them.
#include "predict/workload/families/layer_parts.h"
#include "predict/workload/ops/model_operators.h"
#include "predict/workload/parallel/tensor.h"

namespace reprise {
namespace {

// Up, and gate, to `inner` numbers in all; down.
ExpertWeights NewBlock(Unit& unit, const Workload& w, std::int64_t inner) {
  const ModelShape& m = w.model;
  const std::int64_t own = inner / w.layout.tp;
  const bool bias = m.ffn_bias.value_or(m.bias);
  return {NewLinear(unit, w, own * (m.gated_ffn ? 2 : 1), m.hidden, Division::kColumns, bias),
          NewLinear(unit, w, m.hidden, own, Division::kRows, bias)};
}

class DenseBlock final : public LayerPart {
 public:
  DenseBlock(Unit& unit, const Workload& w)
      : weights_(NewBlock(unit, w, w.model.dense_ffn > 0 ? w.model.dense_ffn : w.model.ffn)) {}
  [[nodiscard]] Var Forward(Builder& b, const Var& x) override {
    return ComputeModule(b, kDenseBlock, {x}, [&b, this](const std::vector<Var>& in) {
      const Var n = EnterTensorParallel(b, in[0], true);
      return LastLinear(b, UpAndActivation(b, n, weights_), weights_.down);
    });
  }
  [[nodiscard]] Parameter* BiasLeft(const Workload& w) const override {
    return w.layout.tp > 1 ? weights_.down.bias : nullptr;
  }

 private:
  ExpertWeights weights_;
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
    for (std::int64_t i = 0; i < (m.grouped_experts ? 1 : local); ++i) {
      const ExpertWeights& made = experts_.emplace_back(NewBlock(unit, w, m.ffn));
      for (Parameter* one : {made.up.weight, made.up.bias, made.down.weight, made.down.bias}) {
        if (one != nullptr) {
          one->expert = w.layout.ep > 1;
          one->tp_sum = false;
          if (m.grouped_experts) {
            one->shape.insert(one->shape.begin(), local);
          }
        }
      }
    }
    if (m.shared_ffn > 0) {
      shared_ = NewBlock(unit, w, m.shared_ffn);
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
    made->copies = w.layout.tp;
    return made;
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
